"""A change of how episodes are learnt from is compared over time, once its effect can be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.guard import KnobStatus
from tests import live_run, proposed
from tests.gate.guard import played

ENTROPY = {
    "changes": {"agent.entropy_coeff": 0.005},
    "expected": {"metric": "learner.entropy", "direction": "up", "size": 0.1},
    "window": 25,
}


def entropy_rises(status: KnobStatus) -> dict[str, object]:
    """Return a learner whose entropy follows its coefficient at once."""
    return {"learner": {"entropy": 0.5 + 0.01 * (status.revision % 2) + 0.2 * status.revision}}


def test_an_entropy_change_lags_and_is_not_taken_back(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run", episodes=256)
    run.play(30)
    proposed.submit(run.paths, **ENTROPY)
    run.extra = entropy_rises
    run.success = played.under(0.47, 0.5)
    run.play(1)
    (test,) = run.tests()
    assert (test.design, test.lag, test.baseline) == ("before_after", 20, 30)
    assert (test.proximal, test.direction, test.ease) == ("learner.entropy", 1, "unchanged")
    assert run.statuses[-1].test is None
    run.play(test.ready_after - 2)
    assert run.outcomes() == ()
    assert run.statuses[-1].revision == 1
    (standing,) = run.standing()
    assert standing.verdict == "lagging"
    assert "its own metric moved by" in standing.because


def test_what_costs_first_and_helps_later_is_a_provisional_help(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run", episodes=256)
    run.play(30)
    proposed.submit(run.paths, **ENTROPY)
    run.extra = entropy_rises
    run.success = lambda status, side: (
        0.5 + (status.revision and min(-0.03 + 0.13 * max(run.step - 41, 0) / 20, 0.1))
    )
    run.play(1)
    (test,) = run.tests()
    run.play(test.ready_after)
    (outcome,) = run.outcomes()
    assert (outcome.verdict, outcome.provisional) == ("help", True)
    assert outcome.window == (51, 30 + test.ready_after)
    assert run.statuses[-1].revision == 1


def test_a_learner_that_breaks_success_is_a_harm_before_the_window_is_over(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, **ENTROPY)
    run.success = played.under(0.3, 0.5)
    run.play(1)
    ready = run.tests()[0].ready_after
    while not run.outcomes():
        run.play()
    assert run.step < 31 + ready
    (outcome,) = run.outcomes()
    assert (outcome.verdict, outcome.rolled_back_by) == ("harm", 2)
    assert run.statuses[-1].knobs.get("agent.entropy_coeff") == 0.001


def test_a_run_without_a_baseline_says_that_nothing_can_be_told(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(8)
    proposed.submit(run.paths, **ENTROPY)
    status = run.play()
    (test,) = run.tests()
    assert (test.judged, status.test) == (False, None)
    assert test.because.startswith("it takes 20 steps without a change to know the noise")
    (outcome,) = status.proposals
    assert (outcome.revision, [one.rule for one in outcome.findings]) == (
        1,
        ["effects.not-judged"],
    )
    assert status.warnings == outcome.findings
    assert 'state: "not judged"' in run.paths.experiment(1).read_text()
    run.play(60)
    assert run.outcomes() == ()


def test_a_test_that_does_not_fit_is_underpowered_by_design(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run", steps=60)
    run.play(30)
    proposed.submit(
        run.paths,
        changes={"user.max_reply_chars": 500},
        expected={"metric": "success", "direction": "up", "size": 0.05},
    )
    status = run.play()
    (outcome,) = status.proposals
    assert outcome.revision == 1
    (told,) = outcome.findings
    assert told.rule == "effects.underpowered"
    assert "Underpowered by design: an effect of 0.050 needs" in told.message
    assert "and 30 are left" in told.message
    (test,) = run.tests()
    assert (test.judged, test.design) == (False, "")
    assert test.detectable is not None
    assert test.detectable > 0.05


def test_whoever_asked_to_be_refused_rather_than_unjudged_is(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run", steps=60)
    run.play(30)
    proposed.submit(
        run.paths,
        changes={"user.match_threshold": 0.5},
        expected={"metric": "success", "direction": "up", "size": 0.01},
        if_underpowered="refuse",
    )
    (outcome,) = run.play().proposals
    assert outcome.revision is None
    assert [one.rule for one in outcome.findings] == ["effects.underpowered"]
    assert run.tests() == []


def test_the_mix_of_tasks_cannot_be_judged_by_success(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, changes={"environment.task_mix": {"travel": 1, "intention": 3}})
    run.play()
    (test,) = run.tests()
    assert not test.judged
    assert "which tasks are played" in test.because


def test_a_change_of_operation_alone_is_no_test(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, changes={"agent.on_disk_full": "stop"})
    assert run.play().revision == 1
    assert run.tests() == []


def test_what_learns_too_slowly_to_be_told_is_underpowered(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run", steps=52)
    run.play(30)
    proposed.submit(run.paths, **ENTROPY)
    run.play()
    (test,) = run.tests()
    assert test.because.startswith("Underpowered by design: an effect of 0.080 needs")


def test_a_value_that_a_world_had_anyway_is_no_test(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    live_run.save(run.paths, "user.worlds", {"travel": {"max_reveals": 2}})
    assert run.play().revision == 1
    assert run.tests() == []


def test_a_change_of_operation_does_not_end_a_test(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, **ENTROPY)
    run.play(2)
    live_run.save(run.paths, "agent.on_disk_full", "stop")
    run.play(3)
    assert len(run.revisions()) == 3
    assert run.outcomes() == ()
    assert len(run.standing()) == 1


def test_a_run_that_tells_nothing_of_its_batches_opens_no_test(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    proposed.record_launch(run.paths)
    run.play(3)
    run.paths.steps.unlink()
    run.restart()
    proposed.submit(run.paths, evidence={"steps": [1]})
    live_run.save(run.paths, "user.persona", "terse")
    run.look()
    assert run.tests() == []


def test_batches_are_known_from_what_was_played_too(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run", episodes=256)
    proposed.record_launch(run.paths)
    run.play(3)
    live_run.save(run.paths, "user.persona", "terse")
    run.play()
    (test,) = run.tests()
    assert (test.design, test.judged) == ("concurrent_arms", True)
    assert test.noise_sd == pytest.approx(0.5 * (2 / 128) ** 0.5)
