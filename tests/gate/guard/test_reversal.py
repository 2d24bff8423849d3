"""Where a batch cannot be split, old and new values take turns at steps drawn before the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import proposed
from tests.gate.guard import played

CHANGE = {
    "changes": {"user.max_reply_chars": 500},
    "window": 21,
    "expected": {"metric": "success", "direction": "up", "size": 0.2},
}


def reversal(tmp_path: Path, new: float) -> played.PlayedRun:
    """Return a run of one group a step in which a reversal has just opened."""
    run = played.launch(tmp_path / "run", groups=1)
    run.play(30)
    proposed.submit(run.paths, **CHANGE)
    run.success = played.under(new, 0.5)
    run.play(1)
    return run


def test_the_values_switch_at_the_drawn_steps(tmp_path: Path) -> None:
    run = reversal(tmp_path, 0.5)
    (test,) = run.tests()
    assert (test.design, test.judged, test.lag) == ("reversal", True, 0)
    assert test.layout is not None
    forth, back = test.layout
    assert test.shortest_phase <= forth
    assert back - forth >= test.shortest_phase
    assert test.window - back >= test.shortest_phase
    run.play(test.window - 1)
    played_under = [status.revision for status in run.statuses[30:]]
    assert played_under == [0] * forth + [1] * (back - forth) + [0] * (test.window - back)
    assert [status.knobs.get("user.max_reply_chars") for status in run.statuses[30:]] == [
        500 if revision else 400 for revision in played_under
    ]
    switched = [status for status in run.statuses[30:] if status.changed]
    assert [status.changed[0].new for status in switched] == [500, 400]
    run.play()
    (outcome,) = run.outcomes()
    assert outcome.verdict in ("null", "inconclusive")
    assert run.statuses[-1].revision == 1


@pytest.mark.parametrize(("new", "ends_on"), [(0.1, 0), (0.9, 1)])
def test_it_ends_on_what_the_verdict_says(tmp_path: Path, new: float, ends_on: int) -> None:
    run = reversal(tmp_path, new)
    (test,) = run.tests()
    for _ in range(test.window):
        run.play()
        if run.outcomes():
            break
    (outcome,) = run.outcomes()
    assert outcome.verdict == ("null" if ends_on else "harm")
    status = run.play()
    value = status.knobs.get("user.max_reply_chars")
    assert value == (500 if ends_on else 400)


def test_nothing_else_comes_meanwhile(tmp_path: Path) -> None:
    run = reversal(tmp_path, 0.5)
    proposed.submit(run.paths, changes={"agent.gae_lambda": 0.9}, concurrent=True)
    (waits,) = run.play().waiting
    assert waits.rule == "guard.waiting"
    assert "compares two sides" in waits.message
