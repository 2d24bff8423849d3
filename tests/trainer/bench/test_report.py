"""Figures are printed with their limits, and a limit that is missed is marked, not raised."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from trainer.bench import report
from trainer.bench.figures import Figure, at_least, at_most
from trainer.cli import app

RESULTS = {
    "knobs": [
        Figure("reconcile", 18.7, "µs", at_most(100.0), 0.98),
        Figure("changed", 31.3, "ms"),
    ],
    "user": [Figure("replies", 9_000.0, "replies/s", at_least(10_000.0), 0.31)],
}
ABOUT = {
    "cpus": 2,
    "threads": 1,
    "load": 0.1,
    "python": "3.11.7",
    "torch": "2.13.0",
    "transformers": "5.24.0",
}


def printed() -> str:
    console = Console(file=io.StringIO(), width=120)
    report.show(console, RESULTS, ABOUT)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("value", "limit", "kept"),
    [
        (100.0, at_most(100.0), True),
        (100.1, at_most(100.0), False),
        (3.0, at_least(3.0), True),
        (2.9, at_least(3.0), False),
        (1.0, None, None),
    ],
)
def test_a_limit_is_kept_up_to_and_with_its_bound(value, limit, kept):
    assert Figure("one", value, "x", limit).kept is kept


def test_the_table_shows_value_unit_limit_and_how_busy_the_machine_was():
    text = printed()
    for part in ("reconcile", "18.7", "µs", "<= 100 ok", "0.98", "31.3", ">= 10,000 MISSED"):
        assert part in text
    assert "2 vCPU, one thread, torch 2.13.0" in text


def test_a_missed_limit_is_named_once_more_below_the_table():
    assert report.missed(RESULTS) == ["replies"]
    assert "missed: replies" in printed()


def test_json_carries_every_figure_with_its_unit_and_its_limit():
    values = json.loads(json.dumps(report.to_json(RESULTS, ABOUT)))
    assert values["missed"] == ["replies"]
    assert values["machine"]["cpus"] == 2
    assert values["benches"]["knobs"][0] == {
        "name": "reconcile",
        "value": 18.7,
        "unit": "µs",
        "limit": "<= 100",
        "kept": True,
        "cpu_per_wall": 0.98,
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0123, "0.0123"),
        (0.5, "0.50"),
        (3.691, "3.69"),
        (18.7, "18.7"),
        (1e4, "10,000"),
    ],
)
def test_a_number_is_printed_without_digits_that_mean_nothing(value, text):
    assert report.number(value) == text


def test_the_machine_is_described_without_a_date():
    about = report.machine()
    assert about["threads"] == 1
    assert set(ABOUT) == set(about)


def test_the_command_runs_one_measurement_and_prints_json():
    outcome = CliRunner().invoke(app, ["bench", "--only", "gae", "--quick", "--json"])
    assert outcome.exit_code == 0, outcome.output
    values = json.loads(outcome.stdout)
    assert list(values["benches"]) == ["gae"]
    assert values["machine"]["threads"] == 1


def test_the_command_names_the_measurements_when_it_is_asked_for_another():
    outcome = CliRunner().invoke(app, ["bench", "--only", "speed"])
    assert outcome.exit_code == 2
    assert "speed" in outcome.output
    assert "reconcile" in outcome.output
