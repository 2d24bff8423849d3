"""A change of how episodes are played is compared within each batch, and harm is taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract.ledger import Author, RevisionKind
from tests import live_run, proposed
from tests.gate.guard import played

HARDER = {"user.max_reveals": 1}
NEUTRAL = {"user.max_reply_chars": 500}


def test_a_harm_of_a_tenth_is_found_and_taken_back(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, window=10)
    run.success = played.under(0.4, 0.5)
    run.play(1)
    (test,) = run.tests()
    assert (test.design, test.proposal, test.revision, test.old_revision) == (
        "concurrent_arms", 1, 1, 0,
    )  # fmt: skip
    assert (test.opened, test.window, test.effect) == (31, 58, 0.05)
    assert run.statuses[-1].opened == (test,)
    open_test = run.statuses[-1].test
    assert open_test is not None
    assert (open_test.old.revision, open_test.new.revision, open_test.new_share) == (0, 1, 0.5)
    assert open_test.old.knobs.get("user.max_reveals") == 2
    assert open_test.new.knobs.get("user.max_reveals") == 3
    while not run.outcomes():
        run.play()
        assert run.step < test.opened + test.ready_after
    (outcome,) = run.outcomes()
    assert (outcome.verdict, outcome.revision, outcome.rolled_back_by) == ("harm", 1, 2)
    assert (outcome.experiment, outcome.proposal) == (1, 1)
    back = run.revisions()[-1]
    assert (back.kind, back.author) == (RevisionKind.REVERT, Author.GATE)
    assert back.details["reverts"] == 1
    status = run.statuses[-1]
    assert (status.revision, status.test) == (2, None)
    assert status.knobs.get("user.max_reveals") == 2
    assert "max_reveals: 2" in run.paths.knob_file("user").read_text()
    (told,) = status.verdicts
    assert (told.verdict, told.revision, told.rolled_back_by) == ("harm", 1, 2)
    assert told.seq == outcome.seq
    assert 'state: "closed"' in run.paths.experiment(1).read_text()
    run.play(20)
    assert len(run.outcomes()) == 1
    assert len(run.revisions()) == 3


def test_no_effect_is_told_as_none_and_stays(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run", episodes=256)
    run.play(30)
    proposed.submit(run.paths, window=40, changes=NEUTRAL)
    run.play(1)
    (test,) = run.tests()
    run.play(test.ready_after)
    (outcome,) = run.outcomes()
    assert (outcome.verdict, outcome.rolled_back_by) == ("null", None)
    assert outcome.window == (31, 30 + test.window)
    assert outcome.effect is not None
    assert outcome.effect["low"] < 0 < outcome.effect["high"]
    assert "noise floor" in outcome.because
    assert run.statuses[-1].test is None
    assert run.statuses[-1].revision == 1


def test_success_that_was_bought_is_waited_with_and_then_nothing(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(
        run.paths, window=10, expected={"metric": "success", "direction": "up", "size": 0.2}
    )
    run.success = played.under(0.9, 0.5)
    run.play(1)
    (test,) = run.tests()
    assert test.ease == "easier"
    run.play(test.ready_after)
    (first,) = run.outcomes()
    assert first.verdict == "lagging"
    assert run.statuses[-1].test is not None
    run.play(test.ready_after)
    assert [one.verdict for one in run.outcomes()] == ["lagging", "null"]
    assert "makes its own episodes easier" in run.outcomes()[-1].because
    assert run.statuses[-1].test is None
    proposed.submit(run.paths, changes={"environment.max_steps": 17}, concurrent=True)
    status = run.play()
    assert [one.rule for one in status.proposals[0].findings] == ["rules.difficulty"]
    assert "recent success of the anchors is 0." in status.proposals[0].findings[0].message


def test_better_under_harder_tasks_is_a_help_that_the_anchors_confirm(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run", anchor_success=0.9)
    run.play(30)
    proposed.submit(run.paths, window=10, changes=HARDER)
    run.success = played.under(0.75, 0.5)
    run.play(1)
    (test,) = run.tests()
    assert (test.ease, test.judged) == ("harder", True)
    run.play(test.ready_after)
    (outcome,) = run.outcomes()
    assert (outcome.verdict, outcome.provisional) == ("help", False)


def test_without_anchors_nothing_is_a_help(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run", anchor_success=0.9)
    run.play(30)
    proposed.submit(run.paths, window=10, changes=HARDER, if_inconclusive="revert")
    run.play(1)
    run.anchor_success = None
    run.success = played.under(0.75, 0.5)
    run.play(run.tests()[0].ready_after)
    (outcome,) = run.outcomes()
    assert outcome.verdict == "inconclusive"
    assert "no anchors were played" in outcome.because
    assert outcome.rolled_back_by == 2
    assert run.statuses[-1].knobs.get("user.max_reveals") == 2


@pytest.mark.parametrize("mix", [0.5, 0.9])
def test_arms_that_differ_are_no_effect_of_the_mix(tmp_path: Path, mix: float) -> None:
    run = played.launch(
        tmp_path / "run",
        episodes=256,
        arms={"symbolic": 0.5, "llm": 0.5},
        bonus={"symbolic": 0.3, "llm": 0.0},
    )
    run.success = played.constant(0.3)
    run.play(30)
    live_run.save(run.paths, "user.user_strategy_mix", 0.75)
    run.arms_new = {"symbolic": mix, "llm": 1 - mix}
    run.play(1)
    (test,) = run.tests()
    assert (test.proposal, test.judged) == (None, True)
    run.play(test.ready_after)
    (outcome,) = run.outcomes()
    assert outcome.verdict in ("null", "inconclusive")
    assert outcome.effect is not None
    assert outcome.effect["low"] < 0 < outcome.effect["high"]
