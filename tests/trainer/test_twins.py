"""Two twins of a run differ in one proposal alone; their verdict is told on the run's ledger."""

from __future__ import annotations

from pathlib import Path

from gate.contract import experiments, files, launch_record, ledger
from gate.contract.paths import RunPaths
from tests import jobs, live_run, proposed, tiny_run
from tests.nursery import Nursery
from tests.trainer.test_proposals_in_a_run import renew_digests


def values(run: RunPaths, key: str) -> list[object]:
    return [record[key] for record in tiny_run.told_steps(run)]


def test_twins_play_the_same_and_differ_in_the_proposal_alone(
    nursery: Nursery, seedling: Path, tmp_path: Path
) -> None:
    parent = jobs.copy_run(seedling, tmp_path / "run")
    child = nursery.run("resume", parent.root, stop_after=3)
    assert child.returncode == 0, child.told()
    renew_digests(parent)
    live_run.move_knobs(parent, tmp_path / "mine")
    # Nobody's success depends on how long a reply may be: the twins must stay the same run.
    proposed.submit(parent, changes={"user.max_reply_chars": 800})
    before = parent.steps.read_bytes()
    words = ("--proposal", "1", "--steps", "6", "--runs", str(tmp_path))
    child = nursery.run("command", "twins", "run", *words)
    assert child.returncode == 0, child.told()
    old, new = (RunPaths(tmp_path / f"run-twin-{side}") for side in ("old", "new"))
    assert parent.steps.read_bytes() == before
    assert values(old, "step") == values(new, "step") == list(range(1, 10))
    assert values(old, "params_digest") == values(new, "params_digest")
    assert values(old, "params_digest")[:3] == values(parent, "params_digest")
    chars = [run.knob_file("user").read_text().count("max_reply_chars: 800") for run in (old, new)]
    assert chars == [0, 1]
    # A folder that the parent watches is the parent's alone.
    assert [run.knobs.is_symlink() for run in (parent, old, new)] == [True, False, False]
    assert [launch_record.read(run.root).knobs for run in (old, new)] == [None, None]
    assert "max_reply_chars: 400" in (tmp_path / "mine" / "user.yaml").read_text()
    assert [launch_record.attempt(run.root) for run in (parent, old, new)] == [1, 1, 1]
    assert files.read_lines(old.ledger).records[1]["reason"] == "twin of proposal 1"
    (outcome,) = experiments.outcomes(ledger.entries(parent.ledger))
    assert (outcome.design, outcome.proposal, outcome.experiment) == ("forked_twins", 1, None)
    assert outcome.window == (4, 9)
    assert outcome.effect is not None
    assert outcome.effect["difference"] == 0.0
    again = nursery.run("command", "twins", "run", *words)
    assert again.returncode == 2
    assert "is there already" in again.told()
