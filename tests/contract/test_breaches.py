"""A breach is on the ledger, breaks nothing there, and is told to the run once."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gate import cli
from gate.contract import breaches, ledger
from gate.guard.guard import Guard
from tests import live_run
from trainer import telling


def test_a_breach_is_read_back_told_once_and_shown_by_the_log(tmp_path: Path) -> None:
    run = live_run.launch(tmp_path / "run")
    guard = Guard.open(run, worlds=live_run.WORLDS)
    assert guard.reconcile(1, success_history=[], now=1.0).breaches == ()
    told = ["knobs/user.yaml: changed; put back"]
    entry = breaches.record(run, told, tick=3, agent="codex", step=2, now=2.0)
    assert ledger.verify(run.ledger).ok
    status = guard.reconcile(2, success_history=[], now=3.0)
    assert status.breaches == (breaches.Breach(entry.seq, 3, "codex", tuple(told)),)
    (event,) = telling.changes(status, None, 0)
    assert (event.kind, event.detail["sentences"]) == ("breach", tuple(told))
    assert guard.reconcile(3, success_history=[], now=4.0).breaches == ()
    shown = CliRunner().invoke(cli.app, ["log", str(run.root)]).stdout
    assert "knobs/user.yaml: changed; put back. Look at supervisor/0003/" in shown


def test_a_breach_without_a_sentence_is_a_bug(tmp_path: Path) -> None:
    run = live_run.launch(tmp_path / "run")
    with pytest.raises(ValueError, match="says what was written"):
        breaches.record(run, [], tick=1, agent="x", step=1, now=1.0)
