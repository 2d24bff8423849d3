"""Twins are judged by their paired difference; the verdict is told on their parent's ledger."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gate.contract import files, knobs, ledger
from gate.contract.findings import Refused
from gate.contract.ledger import Author, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import twins
from tests import live_run, proposed
from tests.gate.guard import played

FIRST, STEPS = 31, 30


def parent(tmp_path: Path, *, decided: bool) -> played.PlayedRun:
    """Return a run with one proposal, in force for a step or not decided yet."""
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, changes={"user.max_reveals": 3}, window=5)
    if decided:
        run.play()
    return run


def child(root: Path, chance: float, *, arm: str = "symbolic", anchors: bool = True) -> RunPaths:
    """Return a twin that played all its steps."""
    root.mkdir()
    run, rng = RunPaths(root), random.Random(7)
    for step in range(FIRST, FIRST + STEPS):
        success = sum(rng.random() < chance for _ in range(64)) / 64
        record = {
            "step": step,
            "success_by_arm": {arm: success},
            "episodes_by_arm": {arm: 64},
            **({"anchor_success": 0.5, "anchor_episodes": 8} if anchors else {}),
        }
        files.append_line(run.steps, record)
    return run


def both(tmp_path: Path, old: float, new: float) -> tuple[RunPaths, RunPaths]:
    return child(tmp_path / "old", old), child(tmp_path / "new", new)


def pair(run: played.PlayedRun, number: int = 1) -> twins.Pair:
    return twins.pair(run.paths, number, worlds=live_run.WORLDS)


@pytest.mark.parametrize("decided", [True, False])
def test_twins_differ_in_what_the_proposal_changes(tmp_path: Path, decided: bool) -> None:
    found = pair(parent(tmp_path, decided=decided))
    assert (found.proposal, found.in_force, found.revision) == (1, decided, int(decided))
    assert knobs.diff(found.change.old, found.change.new) == (
        knobs.KnobChange("user.max_reveals", 2, 3),
    )
    assert (found.launch, found.world) == (knobs.defaults(), 0)


def test_harm_of_a_proposal_in_force_is_taken_back(tmp_path: Path) -> None:
    run = parent(tmp_path, decided=True)
    told = twins.conclude(
        run.paths,
        pair(run),
        both(tmp_path, 0.6, 0.4),
        first=FIRST,
        worlds=live_run.WORLDS,
        now=99.0,
    )
    assert (told.verdict, told.proposal, told.revision) == ("harm", 1, 1)
    assert (told.design, told.window, told.experiment) == ("forked_twins", (31, 60), None)
    assert told.rolled_back_by == 2
    assert ledger.revisions(run.paths.ledger)[-1].author is Author.GATE
    assert run.play().knobs.get("user.max_reveals") == 2
    assert [one.verdict for one in run.outcomes()] == ["harm", "inconclusive"]


def test_harm_of_a_proposal_that_is_not_in_force_is_told_alone(tmp_path: Path) -> None:
    run = parent(tmp_path, decided=False)
    told = twins.conclude(
        run.paths,
        pair(run),
        both(tmp_path, 0.6, 0.4),
        first=FIRST,
        worlds=live_run.WORLDS,
        now=99.0,
    )
    assert (told.verdict, told.proposal, told.rolled_back_by) == ("harm", 1, None)
    assert len(ledger.revisions(run.paths.ledger)) == 1


def test_success_that_was_bought_is_nothing_for_twins_either(tmp_path: Path) -> None:
    run = parent(tmp_path, decided=False)
    old, new = both(tmp_path, 0.3, 0.7)
    points = [played.points(one) for one in (old, new)]
    judgement = twins.judge(pair(run), *points, first=FIRST)
    assert judgement.verdict == "null"
    assert "makes its own episodes easier" in judgement.because


def test_twins_that_show_nothing_are_inconclusive(tmp_path: Path) -> None:
    found = pair(parent(tmp_path, decided=False))
    symbolic = played.points(child(tmp_path / "old", 0.5))
    llm = played.points(child(tmp_path / "new", 0.5, arm="llm", anchors=False))
    assert twins.judge(found, symbolic, llm, first=FIRST).verdict == "inconclusive"
    assert twins.judge(found, symbolic[:3], symbolic[:3], first=FIRST).verdict == "inconclusive"
    assert twins.judge(found, symbolic, (), first=FIRST).verdict == "inconclusive"


def test_what_the_rules_refuse_has_no_twins(tmp_path: Path) -> None:
    run = parent(tmp_path, decided=True)
    proposed.submit(run.paths, changes={"environment.max_steps": 17})
    with pytest.raises(Refused, match=r"makes tasks harder"):
        pair(run, 2)
    proposed.submit(run.paths, changes={"user.persona": "terse"})
    assert pair(run, 3).change.new.get("user.persona") == "terse"
    proposed.submit(run.paths, changes={"agent.on_disk_full": "stop"}, concurrent=True)
    with pytest.raises(Refused, match="moves no knob"):
        pair(run, 4)
    run.paths.proposal(5).write_text("why\n# end of proposal\n")
    with pytest.raises(Refused, match="holds no proposal"):
        pair(run, 5)


def test_a_twin_begins_with_the_launch_and_its_own_values(tmp_path: Path) -> None:
    found = pair(parent(tmp_path, decided=False))
    run = RunPaths(tmp_path / "twin")
    run.knobs.mkdir(parents=True)
    assert twins.launch(run, found, found.change.new, step=FIRST, now=1.0) == 1
    first, own = ledger.revisions(run.ledger)
    assert (first.number, own.kind, own.step) == (0, RevisionKind.PLANTED, FIRST)
    assert knobs.load(run.knobs, worlds=live_run.WORLDS) == found.change.new
    record = {"step": 3, "revision": 7, "old_revision": 2, "sides": {"old": {}}, "success": 0.5}
    assert twins.as_one_revision(record, 1) == {
        "step": 3,
        "revision": 1,
        "old_revision": None,
        "sides": {},
        "success": 0.5,
    }
