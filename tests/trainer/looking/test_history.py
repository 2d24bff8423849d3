"""A run's history has one line for all that came into force or was found, in order of time."""

from __future__ import annotations

import io
import json

from rich.console import Console
from typer.testing import CliRunner

from gate.contract import ledger
from gate.contract.findings import Finding, Severity
from gate.contract.ledger import EntryKind
from gate.contract.paths import RunPaths
from tests.trainer.looking import mended_run
from trainer.cli import app
from trainer.looking import chronicle
from trainer.looking.chronicle import Line
from trainer.looking.reading import Reader, Reading


def printed(found: list[Line], *, width: int = 200) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    chronicle.show(console, found)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_it_goes_from_the_launch_to_the_verdict(reading: Reading) -> None:
    found = list(chronicle.lines(reading))
    assert [(one.step, one.word) for one in found] == [
        (0, "launch"),
        (16, "revision"),
        (23, "revision"),
        (23, "refused"),
        (23, "test"),
        (28, "help"),
    ]
    assert [one.seq for one in found] == sorted(one.seq for one in found)


def test_each_line_says_who_what_why_and_how_large_the_effect_was(reading: Reading) -> None:
    told = printed(list(chronicle.lines(reading)))
    assert told[1] == (
        "step 16  revision 1  a planted fault: environment.max_steps 16 -> 12"
        "  (planted short: too few turns)"
    )
    assert told[2] == (
        "step 23  revision 2  proposal 1 by operator, taking back revision 1: "
        "environment.max_steps 12 -> 16  (success fell with revision 1)"
    )
    assert "refused     proposal 2: " in told[3]
    assert "test 1      of revision 2; concurrent arms, steps 23 to 32, finds 0.210" in told[4]
    assert "HELP        revision 2: success +0.450 (+0.300 to +0.600); it stays" in told[5]


def test_a_refusal_is_told_by_the_error_that_decided_it(own: RunPaths) -> None:
    found = [
        Finding("effects.underpowered", Severity.WARNING, "It cannot be told.", "Wait."),
        Finding("probe.overlap", Severity.ERROR, "It leaks.", "Tell less."),
    ]
    body = {"proposal": 3, "digest": "0" * 64, "changes": []}
    body["findings"] = [one.to_json() for one in found]
    ledger.append(own.ledger, EntryKind.REFUSED, body, step=29, now=5.0)
    (*_, last) = printed(list(chronicle.lines(Reader(own).read())))
    assert last.endswith("proposal 3: It leaks. Tell less.")


def test_what_was_taken_back_names_the_revision_that_did_it(own: RunPaths) -> None:
    body = {**mended_run.OUTCOME, "verdict": "harm", "rolled_back_by": 3, "effect": None}
    ledger.append(own.ledger, EntryKind.OUTCOME, body, step=29, now=5.0)
    (*_, last) = printed(list(chronicle.lines(Reader(own).read())))
    assert "HARM        revision 2; revision 3 took it back" in last


def test_a_verdict_that_holds_says_nothing_about_staying(own: RunPaths) -> None:
    body = {**mended_run.OUTCOME, "verdict": "lagging", "effect": None}
    ledger.append(own.ledger, EntryKind.OUTCOME, body, step=29, now=5.0)
    (*_, last) = chronicle.lines(Reader(own).read())
    assert last.text == "revision 2"


def test_a_program_gets_every_declared_field(recorded: RunPaths) -> None:
    outcome = CliRunner().invoke(app, ["history", str(recorded.root), "--json"])
    told = json.loads(outcome.output)
    assert (outcome.exit_code, told["run"], told["damage"]) == (0, "mended", [])
    assert all(list(one) == list(Line.__dataclass_fields__) for one in told["lines"])
    assert told["lines"][-1]["difference"] == 0.45


def test_an_altered_ledger_is_told_with_a_status_of_its_own(own: RunPaths) -> None:
    own.ledger.write_bytes(own.ledger.read_bytes().replace(b"too few turns", b"too few tunes"))
    outcome = CliRunner().invoke(app, ["history", str(own.root)])
    assert outcome.exit_code == 1
    assert "cannot be trusted" in outcome.stderr


def test_a_run_that_is_being_launched_has_no_history_yet(own: RunPaths) -> None:
    own.ledger.unlink()
    outcome = CliRunner().invoke(app, ["history", str(own.root), "--json"])
    assert json.loads(outcome.output)["lines"] == []
    assert outcome.exit_code == 1


def test_a_revision_that_was_interrupted_is_told(own: RunPaths) -> None:
    ledger.append(own.ledger, EntryKind.ABANDONED, {"revision": 3}, step=30, now=5.0)
    (*_, last) = chronicle.lines(Reader(own).read())
    assert (last.word, last.revision) == ("abandoned", 3)
    assert last.text == "revision 3 was interrupted and never came into force"
