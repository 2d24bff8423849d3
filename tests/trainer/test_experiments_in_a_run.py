"""A live run tests a saved change: its batches are split, recorded by side, and go on so."""

from __future__ import annotations

from pathlib import Path

from gate.contract import experiments, ledger
from tests import jobs, live_run, tiny_run
from tests.nursery import Nursery


def test_a_saved_change_splits_the_batches_of_a_long_run(
    nursery: Nursery, seedling: Path, tmp_path: Path
) -> None:
    run = jobs.copy_run(seedling, tmp_path / "run")
    written = run.launch.read_text("utf-8")
    assert "\n  total_steps: 10\n" in written
    # So few episodes a step need hundreds of steps: a run of ten would call it underpowered.
    run.launch.write_text(written.replace("\n  total_steps: 10\n", "\n  total_steps: 900\n"))
    live_run.save(run, "user.max_reply_chars", 800)
    child = nursery.run("resume", run.root, stop_after=3)
    assert child.returncode == 0, child.told()
    (test,) = experiments.declared(ledger.entries(run.ledger)).values()
    assert (test.judged, test.design, test.proposal) == (True, "concurrent_arms", None)
    (opened,) = tiny_run.events(run, "test_opened")
    assert (opened["step"], opened["detail"]["experiment"]) == (1, 1)
    assert "opened test 1: concurrent arms, steps 1 to" in child.told()
    assert tiny_run.status(run)["test"] == {"number": 1, "old": 0, "new": 1}
    child = nursery.run("resume", run.root, stop_after=5)
    assert child.returncode == 0, child.told()
    steps = tiny_run.told_steps(run)
    assert [step["test"] for step in steps] == [1] * 5
    assert [(step["old_revision"], step["revision"]) for step in steps] == [(0, 1)] * 5
    assert all(set(step["sides"]) <= {"old", "new"} and step["sides"] for step in steps)
    assert tiny_run.events(run, "resume_difference") == []
    assert len(experiments.declared(ledger.entries(run.ledger))) == 1
