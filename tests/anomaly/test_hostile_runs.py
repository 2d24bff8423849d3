"""A world that breaks in a run costs its own episodes: the step ends, the run goes on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from gate.contract.paths import RunPaths
from tests import jobs, tiny_run
from tests.nursery import Nursery

HOSTILE = Path(__file__).parents[1] / "trainer" / "worlds" / "hostile"
REASONS = {
    "hangs": "world_hung",
    "raises": "world_error",
    "exits": "world_died",
    "floods": "world_flooded",
    "eats_memory": "world_error",
    "pays_nan": "world_invalid",
    "returns_nothing": "world_invalid",
    "verifier_raises": "world_error",
    "verifier_hangs": "world_hung",
}
"""What the world does -> how its episodes end."""
PATIENCE_S = 60.0
"""Deadline of one call of a world that does not hang, on however busy a machine."""
SOMETIMES = """\
from . import calm_env, hostile_env


def make(task, *, settings, seed):
    chosen = hostile_env if seed % 3 == 0 else calm_env
    return chosen.make(task, settings=settings, seed=seed)
"""


@pytest.fixture
def run(seedling: Path, tmp_path: Path) -> RunPaths:
    return jobs.copy_run(seedling, tmp_path / "run")


def infest(run: RunPaths, world: str, *, always: bool) -> None:
    """Put a hostile world in the place of the run's, for all episodes or for some."""
    folder = run.world / "0000" / "travel"
    if always:
        shutil.copy(HOSTILE / world / "env.py", folder / "env.py")
    else:
        (folder / "env.py").rename(folder / "calm_env.py")
        shutil.copy(HOSTILE / world / "env.py", folder / "hostile_env.py")
        (folder / "env.py").write_text(SOMETIMES, "utf-8")


def go_on(nursery: Nursery, run: RunPaths, world: str, *, stop_after: int) -> list[dict[str, Any]]:
    deadline_s = 1.0 if REASONS[world] == "world_hung" else PATIENCE_S
    limits = {"max_steps": 3, "tool_deadline_s": deadline_s, "drain_deadline_s": deadline_s}
    edits = {"1": {"environment": limits}}
    child = nursery.run("resume", run.root, edits=edits, stop_after=stop_after)
    assert child.returncode == 0, child.told()
    assert tiny_run.alive(run.root) == []
    steps = tiny_run.told_steps(run)
    for record in steps:
        parts = record["finished"] + record["quarantined"] + record["dropped"]
        assert record["started"] == parts == 4
    return steps


@pytest.mark.parametrize("world", REASONS)
def test_a_world_that_always_breaks_costs_all_its_episodes(
    nursery: Nursery, run: RunPaths, world: str
) -> None:
    infest(run, world, always=True)
    # Eating memory is slow work.
    num_steps = 1 if world == "eats_memory" else 2
    steps = go_on(nursery, run, world, stop_after=num_steps)
    assert len(steps) == num_steps
    for record in steps:
        assert record["stop_reasons"] == {REASONS[world]: 4}
        assert (record["success"], record["reward"], record["updated"]) == (None, None, False)
    assert len({record["params_digest"] for record in steps}) == 1
    told = tiny_run.events(run, "quarantined")
    assert len(told) == 4 * num_steps
    assert {event["detail"]["stop"] for event in told} == {REASONS[world]}
    assert all(event["detail"]["error"] for event in told)
    assert len(tiny_run.events(run, "no_update")) == num_steps
    assert tiny_run.status(run)["health"]["quarantined_share"] == 1.0


@pytest.mark.parametrize("world", ["hangs", "exits"])
def test_a_world_that_breaks_now_and_then_leaves_the_rest_to_learn_from(
    nursery: Nursery, run: RunPaths, world: str
) -> None:
    infest(run, world, always=False)
    steps = go_on(nursery, run, world, stop_after=4)
    broken = [record["quarantined"] for record in steps]
    assert 0 < sum(broken) < 16
    assert {reason for record in steps for reason in record["stop_reasons"]} <= {
        REASONS[world],
        "out_of_steps",
        "user_ended",
        "malformed",
    }
    assert all(record["updated"] for record in steps if record["finished"])
    assert len(tiny_run.events(run, "quarantined")) == sum(broken)


def test_too_many_broken_episodes_in_a_row_stop_the_run_until_the_world_is_mended(
    nursery: Nursery, run: RunPaths
) -> None:
    env = run.world / "0000" / "travel" / "env.py"
    calm = env.read_bytes()
    infest(run, "raises", always=True)
    # Below what a change of knobs is taken back for: two steps of broken episodes.
    edits = {"1": {"environment": {"max_steps": 4, "max_consecutive_faults": 4}}}
    child = nursery.run("resume", run.root, edits=edits)
    assert child.returncode == 1, child.told()
    assert len(tiny_run.told_steps(run)) == 1
    status = tiny_run.status(run)
    assert status["phase"] == "failed"
    assert "4 episodes in a row were quarantined" in status["reason"]
    assert "environment.max_consecutive_faults is 4" in status["reason"]
    env.write_bytes(calm)
    child = nursery.run("resume", run.root, stop_after=4)
    assert child.returncode == 0, child.told()
    assert [record["quarantined"] for record in tiny_run.told_steps(run)] == [4, 0, 0, 0]
