"""Schedules differ as they should: barriers wait, spares bias, deadlines lose, overlap ages."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trainer import cli, documents
from trainer.scheduling.fleet import Fleet
from trainer.scheduling.schedules import SCHEDULES, Outcome, Setting
from trainer.scheduling.table import CONDITIONS
from trainer.scheduling.workload import Workload

SMALL = Setting(fleet=Fleet(nodes=2, slots=16), steps=5)
HANGING = replace(SMALL, load=Workload(straggler_share=0.01))


@pytest.fixture(scope="module")
def usual() -> dict[str, Outcome]:
    return {name: play(SMALL) for name, play in SCHEDULES.items()}


def test_the_same_seed_gives_the_same_outcome(usual: dict[str, Outcome]) -> None:
    assert {name: play(SMALL) for name, play in SCHEDULES.items()} == usual
    assert SCHEDULES["pulled"](replace(SMALL, seed=1)) != usual["pulled"]


def test_shares_lie_between_0_and_1(usual: dict[str, Outcome]) -> None:
    for outcome in usual.values():
        assert 0 <= outcome.lost < 1 and 0 < outcome.filled <= 1 + 1e-9


def test_without_a_barrier_every_place_is_always_taken(usual: dict[str, Outcome]) -> None:
    assert usual["flowing"].filled == pytest.approx(1.0)
    assert usual["flowing"].step_s < usual["pulled"].step_s


def test_dialogues_alike_leave_fewer_places_empty() -> None:
    filled = [
        SCHEDULES["pulled"](replace(SMALL, load=Workload(turn_spread=spread))).filled
        for spread in (0.1, 0.5, 1.0)
    ]
    assert filled[0] > filled[1] > filled[2]


def test_letting_the_last_ones_go_is_quick_and_shortens_what_is_learnt_from(
    usual: dict[str, Outcome],
) -> None:
    assert usual["spare"].step_s < usual["pulled"].step_s
    assert usual["spare"].length_bias < usual["pulled"].length_bias - 0.03
    assert usual["spare"].lost == pytest.approx(1 - 1 / 1.1, abs=0.01)


def test_a_deadline_loses_what_hangs_and_saves_the_step() -> None:
    waiting, strict = SCHEDULES["pulled"](HANGING), SCHEDULES["deadline"](HANGING)
    assert strict.step_s < waiting.step_s
    # One in a hundred answers, over some eight turns.
    assert 0.04 < strict.lost < 0.12 and waiting.lost == 0
    assert SCHEDULES["deadline"](SMALL).lost == 0


def test_overlap_hides_the_update_at_the_price_of_one_step(usual: dict[str, Outcome]) -> None:
    assert usual["overlapped"].step_s == pytest.approx(usual["pulled"].step_s - SMALL.update_s)
    assert (usual["overlapped"].staleness, usual["pulled"].staleness) == (1.0, 0.0)


def test_an_update_that_is_longer_than_a_rollout_is_what_overlap_waits_for() -> None:
    slow = replace(SMALL, update_s=10_000.0)
    assert SCHEDULES["overlapped"](slow).step_s == 10_000.0


def test_the_command_tells_every_schedule_under_every_condition(tmp_path: Path) -> None:
    words = ["schedule", "--nodes", "1", "--steps", "1"]
    told = json.loads(CliRunner().invoke(cli.app, [*words, "--json"]).stdout)
    assert set(told) == set(CONDITIONS)
    assert all(set(found) == set(SCHEDULES) for found in told.values())
    page = tmp_path / "page.md"
    page.write_text("<!-- begin schedules: generated, edit its source -->\n<!-- end schedules -->")
    shown = CliRunner().invoke(cli.app, [*words, "--publish", str(page)])
    assert shown.exit_code == 0
    assert "| as usual |" in page.read_text("utf-8")
    page.write_text("no place")
    assert CliRunner().invoke(cli.app, [*words, "--publish", str(page)]).exit_code == cli.MISUSE


def test_the_page_explains_every_schedule_and_shows_every_condition(checkout: Path) -> None:
    page = (checkout / "docs/scheduling.md").read_text("utf-8")
    assert all(f"| `{name}` |" in page for name in SCHEDULES)
    assert all(f"| {name} |" in page for name in CONDITIONS)
    assert documents.with_block(page, "schedules", "x") is not None
