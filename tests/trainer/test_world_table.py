"""The table of worlds tells what is declared and what is really played."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from trainer import cli, world_table
from trainer.worlds import catalog

PURE = ("travel", "intention", "function", "telepathy", "turtle", "persuasion", "search")


@pytest.mark.parametrize("name", PURE)
def test_the_oracle_scores_one_and_the_idle_player_the_floor(name: str) -> None:
    played = world_table.played(name, 12)
    assert (played.oracle, played.floor, played.num_tasks) == (1.0, 0.0, 12)
    assert 0 < played.longest <= played.row.turn_limit == 16
    assert played.oracle_sum is not None and played.oracle_sum > 0.9


def test_tasks_are_spread_over_the_whole_and_each_is_played_once() -> None:
    tasks = catalog.tasks("function", "train")
    order = world_table._spread(tasks)
    assert sorted(task.id for task in order) == sorted(task.id for task in tasks)
    assert [tasks.index(task) for task in order[:4]] == [0, 20, 10, 30]


def test_the_markdown_has_a_row_and_a_section_for_each_world() -> None:
    table, sections = world_table.markdown(), world_table.declarations()
    for name in catalog.WORLDS:
        assert f"| `{name}` |" in table
        assert f"### `{name}`" in sections


def test_the_command_prints_json_for_one_world() -> None:
    result = CliRunner().invoke(
        cli.app, ["worlds", "--world", "function", "--tasks", "3", "--json"]
    )
    (row,) = json.loads(result.stdout)
    assert result.exit_code == 0
    assert row["row"]["num_train"] == 40
    assert (row["oracle"], row["floor"], row["num_tasks"]) == (1.0, 0.0, 3)


def test_the_command_prints_a_table() -> None:
    result = CliRunner().invoke(cli.app, ["worlds", "--world", "search", "--tasks", "1"])
    assert result.exit_code == 0
    assert "search" in result.stdout


def test_an_unknown_world_is_misuse_and_names_those_there_are() -> None:
    result = CliRunner().invoke(cli.app, ["worlds", "--world", "serach"])
    assert result.exit_code == 2


def test_no_tasks_to_play_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        world_table.played("function", 0)
