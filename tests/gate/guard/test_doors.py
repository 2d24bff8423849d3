"""Every door opens a test: a saved file, a command, a proposal; and each may end one early."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gate.cli import app
from gate.contract.ledger import RevisionKind
from gate.guard import applying, planting
from tests import live_run, proposed
from tests.gate.guard import played

LEARNER = {"changes": {"agent.entropy_coeff": 0.005}, "window": 30}


def revert(run: played.PlayedRun, number: int) -> None:
    """Take a revision back as a person does."""
    applying.revert(
        run.paths, number, reason="a doubt", worlds=live_run.WORLDS, now=0.0, timeout_s=1.0
    )


def test_a_saved_file_opens_a_test_without_a_proposal(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    live_run.save(run.paths, "user.max_reveals", 3)
    run.success = played.under(0.3, 0.5)
    status = run.play()
    (test,) = status.opened
    assert (test.proposal, test.revision, test.effect) == (None, 1, 0.08)
    while not run.outcomes():
        run.play()
    (outcome,) = run.outcomes()
    assert (outcome.proposal, outcome.verdict, outcome.rolled_back_by) == (None, "harm", 2)
    assert "max_reveals: 2" in run.paths.knob_file("user").read_text()


def test_a_proposal_waits_for_the_test_of_a_saved_file(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    live_run.save(run.paths, "user.max_reveals", 3)
    run.play()
    proposed.submit(run.paths, changes={"user.persona": "terse"})
    (outcome,) = run.play().proposals
    assert [one.rule for one in outcome.findings] == ["rules.pace"]
    assert outcome.findings[0].message.startswith("The window of revision 1 is open until step")
    proposed.submit(run.paths, changes={"user.persona": "terse"}, concurrent=True)
    status = run.play()
    assert [one.rule for one in status.waiting] == ["guard.waiting"]
    run.play(run.tests()[0].ready_after)
    assert run.outcomes()[0].verdict != "harm"
    assert run.statuses[-1].knobs.get("user.persona") == "terse"


def test_what_is_learnt_and_what_is_played_are_tested_side_by_side(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, **LEARNER)
    run.play(2)
    proposed.submit(run.paths, concurrent=True)
    run.success = lambda status, side: 0.2 if side == "new" else 0.5
    status = run.play()
    assert status.test is not None
    assert (status.test.old.revision, status.test.new.revision) == (1, 2)
    while not run.outcomes():
        run.play()
    (outcome,) = run.outcomes()
    assert (outcome.revision, outcome.verdict, outcome.rolled_back_by) == (2, "harm", 3)
    assert [test.revision for test in run.tests()] == [1, 2]
    run.success = played.constant(0.5)
    run.play(run.tests()[0].ready_after)
    assert [one.revision for one in run.outcomes()] == [2, 1]
    assert run.outcomes()[-1].verdict != "harm"


def test_an_edit_within_a_test_ends_it(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths)
    run.play(4)
    live_run.save(run.paths, "user.persona", "terse")
    status = run.play()
    assert status.test is not None
    assert (status.test.old.revision, status.test.new.revision) == (1, 2)
    run.play()
    (outcome,) = run.outcomes()
    assert (outcome.verdict, outcome.revision) == ("inconclusive", 1)
    assert "revision 2 came after 4 of" in outcome.because
    assert run.statuses[-1].revision == 2


def test_two_edits_of_one_moment_are_told_apart(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    live_run.save(run.paths, "user.max_reveals", 3)
    run.guard.reconcile(31, success_history=[], now=31.0)
    live_run.save(run.paths, "user.persona", "terse")
    run.play()
    run.play()
    first, second = run.tests()
    assert (first.judged, second.judged) == (True, True)
    assert [one.verdict for one in run.outcomes()] == ["inconclusive"]
    assert "after 0 of" in run.outcomes()[0].because


def test_changes_nobody_looked_at_before_the_next_came_are_not_judged(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    for path, value in (("user.max_reveals", 3), ("user.persona", "terse")):
        played.command(run, path, value)
    run.play()
    first, second = run.tests()
    assert (first.judged, second.judged) == (False, True)
    assert first.because == "revision 2 came before a step was played under it alone"


def test_a_person_who_takes_it_back_ends_the_test(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths, if_inconclusive="revert")
    run.play(4)
    revert(run, 1)
    run.play()
    (outcome,) = run.outcomes()
    assert outcome.verdict == "inconclusive"
    assert outcome.because.startswith("revision 2 took it back after 4 of")
    assert outcome.rolled_back_by is None
    assert [one.kind for one in run.revisions()][-1] is RevisionKind.REVERT
    assert len(run.revisions()) == 3


def test_a_harm_that_a_later_edit_moved_on_stays_and_says_so(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths)
    run.success = played.under(0.2, 0.5)
    while not run.standing() or run.standing()[0].verdict != "harm":
        run.play()
    live_run.save(run.paths, "user.max_reveals", 4)
    status = run.play()
    assert status.revision == 2
    assert [one.rule for one in status.warnings] == ["rules.pace", "revision.unseen_edit"]
    assert run.outcomes() == ()
    run.play()
    (outcome,) = run.outcomes()
    assert (outcome.verdict, outcome.rolled_back_by) == ("harm", None)
    assert "it stays in force: user.max_reveals was moved again by revision 2" in outcome.because


@pytest.mark.parametrize("path", ["agent.gae_lambda", "agent.entropy_coeff"])
def test_another_way_of_learning_ends_a_comparison_over_time(tmp_path: Path, path: str) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    live_run.save(run.paths, "agent.kl_coeff", 0.005)
    run.play(3)
    live_run.save(run.paths, path, 0.9 if "lambda" in path else 0.002)
    run.play(2)
    (outcome,) = run.outcomes()
    assert (outcome.revision, outcome.verdict) == (1, "inconclusive")


def test_another_way_of_learning_leaves_sides_of_one_batch_alone(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    proposed.submit(run.paths)
    run.play(3)
    live_run.save(run.paths, "agent.gae_lambda", 0.9)
    status = run.play(2)
    assert run.outcomes() == ()
    assert status.test is not None
    assert (status.test.old.revision, status.test.new.revision) == (0, 2)


def test_commands_tell_open_tests_and_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = played.launch(tmp_path / "runs" / "first")
    monkeypatch.chdir(tmp_path)
    run.play(30)
    proposed.submit(run.paths, window=10)
    run.success = played.under(0.3, 0.5)
    run.play(3)
    checked = CliRunner().invoke(app, ["check", "first"]).stdout
    assert "test 1: concurrent arms, steps 31 to 88, finds 0.050 4 times in 5" in checked
    assert "(proposal 1, revision 1): pending: 3 of 58 steps have passed" in checked
    (told,) = json.loads(CliRunner().invoke(app, ["check", "first", "--json"]).stdout)["tests"]
    assert told["experiment"] == 1
    assert told["now"].startswith("pending: 3 of 58 steps have passed; noise floor: 0.0")
    while not run.outcomes():
        run.play()
    logged = CliRunner().invoke(app, ["log", "first"]).stdout
    assert "step 31  opened  proposal 1  revision 1  test 1: concurrent arms" in logged
    assert "outcome  proposal 1  revision 1  harm: the evidence of harm reached" in logged
    assert "; taken back by revision 2" in logged
    assert "test 1" not in CliRunner().invoke(app, ["check", "first"]).stdout
    run.paths.ledger.write_bytes(run.paths.ledger.read_bytes().replace(b'"seq":1', b'"seq":7', 1))
    damaged = CliRunner().invoke(app, ["check", "first", "--json"])
    assert json.loads(damaged.stdout)["tests"] == []


def test_a_check_of_a_saved_file_names_no_proposal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = played.launch(tmp_path / "runs" / "first")
    monkeypatch.chdir(tmp_path)
    run.play(10)
    live_run.save(run.paths, "user.max_reply_chars", 500)
    live_run.save(run.paths, "agent.gae_lambda", 0.9)
    run.play()
    logged = CliRunner().invoke(app, ["log", "first"]).stdout
    assert "opened  revision 1  test 1 cannot judge it: it takes 20 steps" in logged
    run.play(25)
    live_run.save(run.paths, "user.max_reply_chars", 400)
    run.play()
    checked = CliRunner().invoke(app, ["check", "first"]).stdout
    assert "(revision 2): pending: 1 of" in checked


def test_what_was_planted_is_neither_tested_nor_taken_back(tmp_path: Path) -> None:
    run = played.launch(tmp_path / "run")
    run.play(30)
    planting.plant(
        run.paths,
        {"user.max_reveals": 3},
        reason="a fault",
        worlds=live_run.WORLDS,
        step=31,
        now=31.0,
        timeout_s=1.0,
    )
    run.extra = lambda status: {"metrics": {"travel.deadlock": 0.9 * status.revision}}
    run.play(5)
    assert (run.tests(), run.outcomes()) == ([], ())
    assert run.statuses[-1].revision == 1
