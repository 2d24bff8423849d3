"""A step's account says what was in force, who put it there and why, and what had been shown."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from gate.contract import files, records
from gate.contract.paths import RunPaths
from tests.trainer.looking import mended_run
from trainer.cli import app
from trainer.looking import account, why
from trainer.looking.reading import Reader, Reading


def printed(found: why.Account, *, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    account.show(console, found)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_before_any_change_all_is_as_at_the_launch(reading: Reading) -> None:
    found = why.account(reading, 3)
    assert (found.revision, found.knobs, found.tests, found.incidents) == (0, (), (), ())
    assert "as at the launch" in printed(found)


def test_a_knob_that_differs_names_its_revision_and_who_put_it_there(reading: Reading) -> None:
    found = why.account(reading, 20)
    (knob,) = found.knobs
    assert (knob.path, knob.launch, knob.value) == ("environment.max_steps", 16, 12)
    assert (knob.since, knob.revision) == (mended_run.FAULT, 1)
    (origin,) = found.origins
    assert (origin.kind, origin.reason) == ("planted", "planted short: too few turns")
    told = printed(found)
    assert "environment.max_steps  16 -> 12  since step 16  revision 1" in told
    assert "revision 1, step 16: a planted fault" in told


def test_a_proposal_is_told_with_its_reason_evidence_and_expectation(reading: Reading) -> None:
    found = why.account(reading, 24)
    assert found.knobs == ()
    told = printed(found)
    assert "revision 2, step 23: proposal 1 by operator, taking back revision 1" in told
    assert re.search(r"why +success fell with revision 1", told)
    assert re.search(r"evidence +steps 17 to 19, 21; episodes 000019-00", told)
    assert re.search(r"expected +success up 0.05", told)


def test_each_side_is_told_with_its_revision_and_success(reading: Reading) -> None:
    found = why.account(reading, 24)
    sides = {one.side: (one.revision, one.started, one.quarantined) for one in found.sides}
    assert sides == {"old": (1, 15, 1), "new": (2, 15, 0), "anchor": (0, 2, 0)}
    shares = {(one.side, one.arm): one for one in found.success}
    assert shares["new", "symbolic"].success == 0.75
    assert shares["new", "symbolic"].low == pytest.approx(0.497, abs=0.001)
    assert shares["new", "symbolic"].high == pytest.approx(0.901, abs=0.001)
    assert shares["anchor", "all"].episodes == 2
    assert "symbolic 0.75 (0.50 to 0.90) of 15" in printed(found, width=120)


def test_an_open_test_says_what_it_had_shown_by_then_and_what_became_of_it(
    reading: Reading,
) -> None:
    first, later = (why.account(reading, step).tests[0] for step in (23, 26))
    assert first.difference is None and later.difference == pytest.approx(0.5)
    assert first.help is not None and later.help is not None and later.help > first.help > 1
    assert later.harm is not None and later.harm < 1
    assert (later.verdict, later.closed) == ("help", mended_run.JUDGED)
    assert "pending: 4 of 10 steps have passed" in later.says
    told = printed(why.account(reading, 26))
    assert "which is no verdict" in told and "help, told at step 28" in told
    assert why.account(reading, 28).tests == ()


def test_a_rate_that_the_optimizer_did_not_use_is_told_beside_the_knob(reading: Reading) -> None:
    rates = {one.name: one for one in why.account(reading, 5).rates}
    asked = reading.past.knobs_by_revision[0].get("agent.actor_lr")  # type: ignore[union-attr]
    assert rates["actor_lr"].requested == asked and rates["actor_lr"].used == 2e-06
    assert rates["critic_lr"].used is None
    assert "no update" in printed(why.account(reading, 5))


def test_incidents_of_the_step_are_counted_by_kind(reading: Reading) -> None:
    (incident,) = why.account(reading, 24).incidents
    assert (incident.kind, incident.count) == ("quarantined", 2)
    assert why.account(reading, 16).incidents == ()


def test_a_world_that_differs_is_told_by_file_and_lines(own: RunPaths) -> None:
    for number, text in ((0, "a: 1\nb: 2\n"), (3, "a: 1\nb: 3\nc: 4\n")):
        folder = own.world_revision(number) / "travel"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "user.yaml").write_text(text)
    files.append_line(own.steps, mended_run.step(41, world_revision=3))
    found = why.account(Reader(own).read(), 41)
    assert [str(one) for one in found.world] == ["travel/user.yaml +2 -1"]
    assert "travel/user.yaml +2 -1" in printed(found)


def test_a_step_that_is_not_on_record_is_answered_with_those_that_are(recorded: RunPaths) -> None:
    outcome = CliRunner().invoke(app, ["why", str(recorded.root), "99"])
    assert isinstance(outcome.exception, why.NoSuchStep)
    assert str(outcome.exception) == "no step 99 in mended; on record: 1 to 40"


def test_what_a_program_reads_has_every_declared_field(recorded: RunPaths) -> None:
    outcome = CliRunner().invoke(app, ["why", str(recorded.root), "24", "--json"])
    told = json.loads(outcome.output)
    assert list(told) == list(why.Account.__dataclass_fields__)
    assert told == json.loads(json.dumps(records.to_json(why.account(Reader(recorded).read(), 24))))
    assert told["tests"][0]["limit"] == 20.0


def test_text_of_others_stays_text(reading: Reading) -> None:
    found = why.account(reading, 20)
    (origin,) = found.origins
    hostile = replace(origin, reason="[/bold][red]\x1b[2J \u202e<b>")
    told = printed(replace(found, origins=(hostile,)), width=200)
    assert "[/bold][red]\\x1b[2J \\x202e<b>" in told


def test_a_ledger_that_was_altered_is_told_and_the_numbers_stay(own: RunPaths) -> None:
    own.ledger.write_bytes(own.ledger.read_bytes().replace(b"too few turns", b"too few tunes"))
    found = why.account(Reader(own).read(), 20)
    assert found.revision == 1 and found.success and found.origins == ()
    assert "cannot be trusted" in printed(found, width=300)


def test_a_run_from_before_sides_were_recorded_is_read(checkout: object) -> None:
    outcome = CliRunner().invoke(app, ["why", "tests/golden/run-v1", "2", "--json"])
    told = json.loads(outcome.output)
    assert [one["side"] for one in told["sides"]] == ["in_force"]
    assert told["origins"][0]["kind"] == "direct_edit"
