"""A planted fault is nobody's change and is not judged; the proposal that mends it is."""

from __future__ import annotations

from pathlib import Path

from gate.guard import KnobStatus, plant
from tests import live_run, proposed
from tests.gate.guard import played

FAULT_AT = 16


def success(status: KnobStatus, side: str) -> float:
    """Return what a turn limit that leaves no time to ask costs."""
    knobs = status.test.old.knobs if status.test is not None and side == "old" else status.knobs
    return 0.25 if knobs.get("environment.max_steps") < 14 else 0.7


def test_a_fault_is_mended_by_a_proposal_that_is_found_to_help(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run", success=success, anchor_success=0.7)
    run.play(FAULT_AT - 1)
    plant(
        run.paths,
        {"environment.max_steps": 12},
        reason="planted",
        worlds=live_run.WORLDS,
        step=FAULT_AT,
        now=1.0,
        timeout_s=1.0,
    )
    run.play(5)
    assert run.tests() == [], "apparatus is not judged"
    proposed.submit(
        run.paths,
        changes=None,
        reverts=1,
        evidence={"steps": [FAULT_AT]},
        expected={"metric": "success", "direction": "up", "size": 0.3},
        window=5,
    )
    run.play(30)
    (test,) = run.tests()
    assert (test.design, test.revision, test.old_revision) == ("concurrent_arms", 2, 1)
    (told,) = run.outcomes()
    assert told.verdict == "help", told
    assert told.rolled_back_by is None
    assert run.guard.status.knobs.get("environment.max_steps") == 16
