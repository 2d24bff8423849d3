"""A run's story is told from its ledger: what was planted, proposed, tested, found and learnt."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract import ledger
from gate.contract.experiments import Experiment
from gate.contract.ledger import EntryKind
from gate.contract.paths import RunPaths
from gate.guard import Guard, plant
from tests import live_run, proposed
from trainer import story

STEPS = [{"step": step, "success": 0.7 if step < 16 or step > 22 else 0.2} for step in range(1, 30)]


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    """Return a run with a planted fault and the proposal that takes it back."""
    run = live_run.launch(tmp_path / "first")
    proposed.log_steps(run, 22)
    proposed.record_launch(run)
    plant(
        run,
        {"environment.max_steps": 12},
        reason="planted short: too few turns",
        worlds=live_run.WORLDS,
        step=16,
        now=1.0,
        timeout_s=1.0,
    )
    proposed.submit(run, changes=None, reverts=1, why="success fell with revision 1")
    proposed.submit(run, changes={"environment.max_steps": 15}, why="more turns")
    Guard.open(run, worlds=live_run.WORLDS).reconcile(23, success_history=(), now=2.0)
    test = Experiment(
        number=1,
        proposal=1,
        revision=2,
        old_revision=1,
        opened=23,
        judged=True,
        design="concurrent_arms",
        window=5,
        detectable=0.21,
    )
    ledger.append(run.ledger, EntryKind.OPENED, test.to_json(), step=23, now=3.0)
    body = {
        "experiment": 1,
        "proposal": 1,
        "revision": 2,
        "verdict": "help",
        "because": "success changed by +0.45",
        "rolled_back_by": None,
    }
    ledger.append(run.ledger, EntryKind.OUTCOME, body, step=28, now=4.0)
    return run


def test_it_goes_from_the_fault_to_the_verdict(run: RunPaths) -> None:
    told = "\n".join(story.tell(run, STEPS))
    parts = [
        "step 16: revision 1, a planted fault: environment.max_steps 16 -> 12 "
        "(success 0.70 before, 0.20 in the 5 steps from there)",
        "why: planted short: too few turns",
        "step 23: revision 2, a proposal that the gate let pass: environment.max_steps 12 -> 16",
        "why: success fell with revision 1",
        "step 23: test 1 of revision 2: concurrent arms, 5 steps, finds 0.21 four times in five",
        "step 28: VERDICT on revision 2: help (success changed by +0.45); it stays",
    ]
    places = [told.find(part) for part in parts]
    assert -1 not in places, told
    assert places == sorted(places)


def test_a_refusal_says_why_and_what_to_do(run: RunPaths) -> None:
    refused = [line for line in story.tell(run, STEPS) if "was refused" in line]
    assert len(refused) == 1
    assert "step 23: proposal 2 was refused" in refused[0]


def test_a_change_that_cannot_be_judged_says_so(run: RunPaths) -> None:
    test = Experiment(
        number=2,
        proposal=None,
        revision=2,
        old_revision=1,
        opened=29,
        judged=False,
        because="too few steps are left",
    )
    ledger.append(run.ledger, EntryKind.OPENED, test.to_json(), step=29, now=5.0)
    told = list(story.tell(run, STEPS))
    assert "step 29: test 2 of revision 2: it cannot be judged, too few steps are left" in told


def test_what_was_taken_back_names_the_revision_that_did_it(run: RunPaths) -> None:
    body = {"experiment": 1, "proposal": 1, "revision": 2, "verdict": "harm", "because": "it fell"}
    ledger.append(run.ledger, EntryKind.OUTCOME, {**body, "rolled_back_by": 3}, step=29, now=5.0)
    assert list(story.tell(run, STEPS))[-1].endswith("harm (it fell); revision 3 took it back")


def test_lessons_that_stayed_in_the_run_are_named(run: RunPaths) -> None:
    folder = run.root / "experience" / "lessons"
    folder.mkdir(parents=True)
    (folder / "0001-turns.md").write_text("a lesson")
    assert list(story.tell(run, STEPS))[-1] == f"lesson: {folder / '0001-turns.md'}"
