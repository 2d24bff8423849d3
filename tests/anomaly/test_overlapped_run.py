"""A run whose steps overlap tells the same story, killed or not, with a real policy and worlds."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract import experiments, ledger
from gate.contract.paths import RunPaths
from tests import jobs, live_run, tiny_run
from tests.anomaly.test_kill import EDITS, STEPS
from tests.nursery import Nursery

STALENESS = [0, 1, 1, 0, 1, 1, 0, 1, 1, 0]
"""It is saved after steps 3, 6, 9 and 10."""


def overlapping(seedling: Path, target: Path) -> RunPaths:
    """Return a copy of the tiny run whose recipe lets steps overlap."""
    run = jobs.copy_run(seedling, target)
    written = run.launch.read_text("utf-8")
    assert "\n    overlap: false\n" in written
    run.launch.write_text(written.replace("\n    overlap: false\n", "\n    overlap: true\n"))
    return run


@pytest.fixture(scope="module")
def unharmed(
    nursery: Nursery, seedling: Path, tmp_path_factory: pytest.TempPathFactory
) -> RunPaths:
    """The run with edits at some steps, never killed."""
    run = overlapping(seedling, tmp_path_factory.mktemp("overlapped") / "run")
    child = nursery.run("resume", run.root, edits=EDITS)
    assert child.returncode == 0, child.told()
    return run


def test_its_batches_are_an_update_old_but_after_a_checkpoint(unharmed: RunPaths) -> None:
    told = tiny_run.told_steps(unharmed)
    assert [one["staleness"] for one in told] == STALENESS
    assert [one["policy_version"] for one in told] == [
        step - 1 - late for step, late in enumerate(STALENESS, 1)
    ]
    assert [one["revision"] for one in told] == [0, 1, 2, 3, 3, 4, 4, 5, 5, 5]
    for one in told:
        measured = one["learner"]
        assert measured["staleness_max"] == one["staleness"]
        assert abs(measured["ratio_first_minibatch_max"] - 1) < 1e-5, "new to old, of the learner"
        gap = measured["sampler_logprob_gap_max"]
        assert gap > 1e-4 if one["staleness"] else gap < 1e-4


@pytest.mark.parametrize(
    ("part", "count"),
    [("/steps.jsonl", 4), ("status.json", 31), ("ledger.jsonl", 4), ("step-000006.partial", 1)],
)
def test_killed_anywhere_it_goes_on_to_the_same_end(
    nursery: Nursery, seedling: Path, tmp_path: Path, unharmed: RunPaths, part: str, count: int
) -> None:
    run = overlapping(seedling, tmp_path / "run")
    child = nursery.run("resume", run.root, edits=EDITS, die_at=[part, count])
    assert child.returncode == -9, child.told()
    assert len(tiny_run.told_steps(run)) < STEPS
    child = nursery.run("resume", run.root, edits=EDITS)
    assert child.returncode == 0, child.told()
    assert tiny_run.told_steps(run) == tiny_run.told_steps(unharmed)
    assert tiny_run.events(run, "resume_difference") == []
    mine, theirs = ledger.revisions(run.ledger), ledger.revisions(unharmed.ledger)
    assert [(one.number, one.step, one.changes) for one in mine] == [
        (one.number, one.step, one.changes) for one in theirs
    ]


def test_a_test_that_is_open_splits_batches_that_are_played_ahead(
    nursery: Nursery, seedling: Path, tmp_path: Path
) -> None:
    run = overlapping(seedling, tmp_path / "run")
    written = run.launch.read_text("utf-8")
    # So few episodes a step need hundreds of steps: a run of ten would call it underpowered.
    run.launch.write_text(written.replace("\n  total_steps: 10\n", "\n  total_steps: 900\n"))
    live_run.save(run, "user.max_reply_chars", 800)
    child = nursery.run("resume", run.root, stop_after=5)
    assert child.returncode == 0, child.told()
    (test,) = experiments.declared(ledger.entries(run.ledger)).values()
    assert (test.judged, test.design, test.opened) == (True, "concurrent_arms", 1)
    steps = tiny_run.told_steps(run)
    assert [one["staleness"] for one in steps] == STALENESS[:5]
    assert [(one["test"], one["old_revision"], one["revision"]) for one in steps] == [(1, 0, 1)] * 5
    assert all(set(one["sides"]) <= {"old", "new"} and one["sides"] for one in steps)
    child = nursery.run("resume", run.root, stop_after=6)
    assert child.returncode == 0, child.told()
    assert tiny_run.events(run, "resume_difference") == []
