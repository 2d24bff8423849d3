"""A run over a swap of worlds and a test: who played where, what counts, and the same on resume."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import jobs, tiny_run
from tests.nursery import Nursery

STEPS = 10
"""Of the tiny run: four groups of one episode a step, saved after steps 3, 6, 9 and 10."""
LAX_AT = 3
"""Step from which a verifier that calls everything a success is in force."""
TESTED = (5, 6, 7)
"""Steps whose batch is split against the launch."""
PLAN: Mapping[str, Any] = {"lax_at": LAX_AT, "tests": {str(step): 0 for step in TESTED}}


@pytest.fixture(scope="module")
def whole(nursery: Nursery, seedling: Path, tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    """The run in one go."""
    run = jobs.copy_run(seedling, tmp_path_factory.mktemp("sides") / "run")
    go_on(nursery, run)
    return run


def go_on(nursery: Nursery, run: RunPaths, **other: object) -> None:
    child = nursery.run("resume", run.root, **PLAN, **other)
    assert child.returncode == 0, child.told()


def episodes(run: RunPaths) -> dict[int, list[dict[str, Any]]]:
    """Return the finished episodes by step."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for step in range(1, STEPS + 1):
        records = files.read_lines(run.episodes_of(step)).records
        found[step] += [one for one in records if one["outcome"] == "finished"]
    return found


def mean(values: list[float]) -> float | None:
    return round(sum(values) / len(values), 9) if values else None


def test_new_workers_play_from_the_step_of_the_swap_on(whole: RunPaths) -> None:
    records = tiny_run.told_steps(whole)
    assert [one["world_revision"] for one in records] == [0, 0] + [1] * 8
    assert [one["revision"] for one in records] == [0, 0] + [1] * 8
    assert sum(one["quarantined"] for one in records) == 0
    (swapped,) = tiny_run.events(whole, "world_swapped")
    assert (swapped["step"], swapped["detail"]) == (LAX_AT, {"revision": 1, "old": 0, "new": 1})


def test_a_laxer_verifier_is_seen_through_by_that_of_revision_0(whole: RunPaths) -> None:
    played = episodes(whole)
    fooled = [
        one for step in range(LAX_AT, STEPS + 1) for one in played[step] if one["revision"] == 1
    ]
    assert {one["success"] for one in fooled} == {1.0}
    assert {one["pinned_success"] for one in fooled} == {0.0}, "the tiny policy solves nothing"
    for record in tiny_run.told_steps(whole)[LAX_AT - 1 :]:
        assert (record["success"], record["pinned_success"]) in ((1.0, 0.0), (None, None))
    assert tiny_run.events(whole, "unscored") == []


def test_the_anchors_play_under_revision_0_and_count_apart(whole: RunPaths) -> None:
    records, played = tiny_run.told_steps(whole), episodes(whole)
    assert [record["by_side"].get("anchor", {}).get("started", 0) for record in records] == [
        *(0, 0, 0, 1, 0, 0, 0, 1, 0, 0)
    ]
    for step in (4, 8):
        (anchor,) = [one for one in played[step] if one["side"] == "anchor"]
        assert anchor["revision"] == 0
        assert anchor["success"] == anchor["pinned_success"] == 0.0
        assert records[step - 1]["anchor_success"] == 0.0
        assert sum(records[step - 1]["episodes_by_arm"].values()) == 3


def test_a_test_splits_the_batch_in_halves_under_two_revisions(whole: RunPaths) -> None:
    records, played = tiny_run.told_steps(whole), episodes(whole)
    for record in records:
        told = (record["test"], record["old_revision"], record["new_share"])
        assert told == ((7, 0, 0.5) if record["step"] in TESTED else (None, None, None))
    for step in TESTED:
        by_side = records[step - 1]["by_side"]
        assert by_side["old"] == {
            **{"revision": 0, "world_revision": 0, "started": 2, "quarantined": 0}
        }
        assert by_side["new"] == {
            **{"revision": 1, "world_revision": 1, "started": 2, "quarantined": 0}
        }
        old = [one for one in played[step] if one["side"] == "old"]
        assert {one["revision"] for one in old} == {0}
        assert {one["success"] for one in old} == {0.0}, "judged by the verifier of its own world"


def test_records_say_what_their_episodes_say(whole: RunPaths) -> None:
    played = episodes(whole)
    for record in tiny_run.told_steps(whole):
        finished = played[record["step"]]
        counted = [one for one in finished if one["side"] in ("in_force", "new")]
        assert record["finished"] == len(finished)
        assert record["success"] == mean([one["success"] for one in counted])
        assert record["pinned_success"] == mean([one["pinned_success"] for one in counted])
        assert record["reward"] == pytest.approx(mean([one["reward"] for one in counted]))
        assert sum(record["episodes_by_arm"].values()) == len(counted)
        for side, arms in record["sides"].items():
            for arm, part in arms.items():
                group = [one for one in finished if (one["side"], one["arm"]) == (side, arm)]
                assert part["episodes"] == len(group)
                assert part["success"] == mean([one["pinned_success"] for one in group])
        assert bool(record["sides"]) == (record["step"] in TESTED)


@pytest.mark.parametrize("stops", [(5,), (4, 7), (2, 8)])
def test_a_run_in_parts_equals_the_run_in_one_go(
    nursery: Nursery, seedling: Path, tmp_path: Path, whole: RunPaths, stops: tuple[int, ...]
) -> None:
    run = jobs.copy_run(seedling, tmp_path / "run")
    for stop in stops:
        go_on(nursery, run, stop_after=stop)
    go_on(nursery, run)
    assert tiny_run.told_steps(run) == tiny_run.told_steps(whole)
    assert tiny_run.events(run, "resume_difference") == []
    assert len(tiny_run.events(run, "world_swapped")) == 1


@pytest.mark.parametrize("part", ["steps.jsonl", "step-000006"])
def test_killed_within_a_test_it_replays_the_same_sides(
    nursery: Nursery, seedling: Path, tmp_path: Path, whole: RunPaths, part: str
) -> None:
    run = jobs.copy_run(seedling, tmp_path / "run")
    count = 6 if part == "steps.jsonl" else 1
    child = nursery.run("resume", run.root, **PLAN, die_at=[part, count])
    assert child.returncode != 0
    assert tiny_run.told_steps(run)[-1]["step"] in TESTED
    go_on(nursery, run)
    assert tiny_run.told_steps(run) == tiny_run.told_steps(whole)
    assert tiny_run.events(run, "resume_difference") == []
    for step in TESTED:
        assert run.episodes_of(step).read_bytes() == whole.episodes_of(step).read_bytes()
