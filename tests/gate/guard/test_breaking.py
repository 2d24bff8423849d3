"""A run that breaks goes back from its last change, if that one can have done it, or from none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.contract import revisions
from gate.contract.ledger import Author, RevisionKind
from gate.guard import KnobStatus, plant
from tests import live_run, proposed
from tests.gate.guard import played

ENTROPY = {"changes": {"agent.entropy_coeff": 0.005}, "window": 25}

SIGNS: dict[str, dict[str, Any]] = {
    "not_finite": {"learner": {"entropy": float("nan")}},
    "gradient_burst": {"learner": {"entropy": 0.5, "actor_grad_norm": 11.0}},
    "entropy_collapse": {"learner": {"entropy": 0.2}},
    "entropy_eruption": {"learner": {"entropy": 1.2}},
    "deadlock": {"metrics": {"travel.deadlock": 0.41}},
    "quarantine": {"quarantined": 20},
}


def breaks(sign: str) -> played.Extra:
    """Return a run in which something breaks under its first revision."""
    return lambda status: SIGNS[sign] if status.revision == 1 else {}


def play_until_told(run: played.PlayedRun, most: int = 6) -> KnobStatus:
    """Run on until something is told, for some steps at most."""
    for _ in range(most):
        if run.play().verdicts:
            break
    return run.statuses[-1]


@pytest.mark.parametrize("sign", SIGNS)
def test_what_breaks_after_a_change_is_taken_back(tmp_path: Path, sign: str) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, **ENTROPY)
    run.extra = breaks(sign)
    status = play_until_told(run)
    (told,) = status.verdicts
    assert (told.verdict, told.revision, told.rolled_back_by) == ("safety_rollback", 1, 2)
    assert sign in told.because
    assert status.revision == 2
    assert run.revisions()[-1].author is Author.GATE
    (outcome,) = run.outcomes()
    assert (outcome.experiment, outcome.effect) == (1, None)
    run.play(20)
    assert len(run.outcomes()) == 1


def test_what_breaks_long_after_the_last_change_names_none(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    live_run.save(run.paths, "user.max_reply_chars", 500)
    run.play(75)
    assert len(run.revisions()) == 2
    before = run.outcomes()
    run.extra = lambda status: SIGNS["deadlock"]
    run.play(5)
    assert run.outcomes() == before
    assert run.statuses[-1].revision == 1


def test_what_went_up_and_down_before_trips_nothing(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.extra = lambda status: {"learner": {"entropy": 0.2 + 0.8 * (run.step // 5 % 2)}}
    run.play(30)
    live_run.save(run.paths, "user.max_reply_chars", 500)
    run.play(12)
    assert run.outcomes() == ()


def test_a_change_without_a_test_is_watched_too(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(5)
    proposed.submit(run.paths, **ENTROPY)
    run.play()
    assert not run.tests()[0].judged
    run.extra = breaks("not_finite")
    status = play_until_told(run)
    assert [one.verdict for one in status.verdicts] == ["safety_rollback"]
    assert status.revision == 2


def test_worlds_that_break_after_a_swap_give_way_to_the_last_good_ones(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    revisions.commit(
        run.paths,
        {},
        author=Author.META_AGENT,
        reason="a kinder world",
        kind=RevisionKind.COMMAND,
        changes=[],
        step=31,
        now=31.0,
        world=1,
    )
    run.extra = lambda status: {"quarantined": 30 if status.world_revision == 1 else 0}
    assert run.play().world_revision == 1
    assert run.tests()[0].ease == "unknown"
    status = play_until_told(run)
    assert [one.verdict for one in status.verdicts] == ["safety_rollback"]
    assert "quarantine" in status.verdicts[0].because
    assert (status.world_revision, status.revision) == (0, 2)


def test_one_outage_is_no_quarantine(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, **ENTROPY)
    run.extra = lambda status: {"quarantined": 60 if run.step == 33 else 0}
    run.play(10)
    assert run.outcomes() == ()


def test_who_went_back_is_not_to_blame(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, **ENTROPY)
    run.extra = breaks("deadlock")
    assert play_until_told(run).revision == 2
    run.extra = lambda status: SIGNS["deadlock"]
    run.play(5)
    assert [one.verdict for one in run.outcomes()] == ["safety_rollback"]
    assert run.statuses[-1].revision == 2


def test_without_records_nothing_is_seen_to_break(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    live_run.save(run.paths, "user.max_reply_chars", 500)
    for _ in range(4):
        run.look()
    assert len(run.tests()) == 1
    assert run.outcomes() == ()


def test_a_run_that_moves_again_after_a_standstill_is_not_called_a_burst(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    norms = {0: 0.15, 1: 0.05, 2: 0.6}
    run.extra = lambda status: {
        "learner": {"entropy": 0.5, "actor_grad_norm": norms[min(status.revision, 2)]}
    }
    run.play(15)
    plant(
        run.paths,
        {"environment.max_steps": 12},
        reason="planted",
        worlds=live_run.WORLDS,
        step=16,
        now=1.0,
        timeout_s=1.0,
    )
    run.play(6)
    proposed.submit(run.paths, changes=None, reverts=1, evidence={"steps": [16]})
    run.play(10)
    assert run.guard.status.revision == 2
    assert "safety_rollback" not in {told.verdict for told in run.outcomes()}
