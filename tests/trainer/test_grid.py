"""The grid's cells are runs that recipes can describe, and its tables pair them by seed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trainer import grid, grid_table, planted, recipe_file
from trainer.grid import Cell, Result

PPO = Cell("ppo", "symbolic", "planted", "alone", 0)


def result(cell: Cell, end: float, **fields: object) -> Result:
    made = Result(
        cell=cell,
        start=0.4,
        end=end,
        steps=3,
        action_tokens=75_000,
        minutes=1.5,
        curve=(0.4, 0.5, end),
        interventions=0,
        taken_back=0,
        verdicts=(),
        meta_agent_s=0.0,
        meta_agent_usd=0.0,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def pair(seed: int, alone: float, eau: float) -> list[Result]:
    told = {"interventions": 1, "verdicts": ("help",), "meta_agent_s": 9.0}
    return [
        result(replace(PPO, seed=seed), alone),
        result(replace(PPO, seed=seed, support="eau"), eau, **told),
    ]


def test_every_cell_is_a_run_that_its_recipe_describes(tmp_path: Path) -> None:
    found = list(grid.cells(range(2)))
    assert len({cell.name for cell in found}) == len(found) == 2 * (5 * 3 * 2 + 4 * 2)
    for cell in found:
        config = recipe_file.load(grid.METHODS[cell.method], cell.overrides(tmp_path))
        assert (config.seed, config.policy.kind) == (cell.seed, "checkpoint")
        assert bool(config.plant) == (cell.condition == "planted")
        assert config.meta_agent.agent == ("operator" if cell.support == "eau" else None)
        planted.check(config.plant, worlds=tuple(config.worlds))


def test_cells_of_a_seed_come_before_those_of_the_next() -> None:
    seeds = [cell.seed for cell in grid.cells(range(3))]
    assert seeds == sorted(seeds)


def test_every_cell_has_the_same_budget_of_tokens(tmp_path: Path) -> None:
    budgets = {
        recipe_file.load(grid.METHODS[cell.method], cell.overrides(tmp_path)).max_action_tokens
        for cell in grid.cells([0])
    }
    assert budgets == {grid.BUDGET_TOKENS}


def test_a_difference_is_taken_seed_by_seed() -> None:
    table = grid_table.methods([*pair(0, 0.3, 0.8), *pair(1, 0.5, 0.9)], "planted")
    assert (
        "| PPO | 0.40 (0.00 to 1.00) | - | 0.85 (0.21 to 1.00) | +0.45 (-0.19 to +1.09) |" in table
    )
    assert "| 0.14 | help, help |" in table


def test_one_seed_has_no_interval() -> None:
    table = grid_table.methods(pair(0, 0.3, 0.8), "planted")
    assert "| PPO | 0.30 (1 seed) | - | 0.80 (1 seed) | +0.50 (1 seed) | - | help |" in table


def test_a_seed_without_its_pair_is_left_out_of_the_difference() -> None:
    lonely = result(replace(PPO, seed=2, support="eau"), 0.1)
    table = grid_table.methods([*pair(0, 0.3, 0.8), lonely], "planted")
    assert "+0.50 (1 seed)" in table


def test_the_page_says_what_co_evolution_cost() -> None:
    told = grid_table.markdown(pair(0, 0.3, 0.8))
    assert "9 s of a run, 10% of the time" in told
    assert "brought into force: 1 in 1 runs" in told
    assert "a clean world" not in told, "a table without a row is left out"
    assert told.startswith("2 of the 190 cells of 5 seeds have been run; seeds 0")


def test_a_grid_without_cells_says_so() -> None:
    assert grid_table.markdown([]) == "No cell of the grid has been run yet.\n"


def test_the_figure_shows_what_all_runs_have_in_common() -> None:
    short = result(PPO, 0.3, curve=(0.4, 0.5))
    curves = grid_table.curves([*pair(0, 0.3, 0.8), short])
    assert curves == {"planted, alone": [0.4, 0.5], "planted, eau": [0.4, 0.5, 0.8]}


def test_a_cell_that_was_run_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAU_EVAL_ROOT", str(tmp_path))
    assert grid.stored(PPO) is None
    grid._store(result(PPO, 0.5))
    assert grid.stored(PPO) == result(PPO, 0.5)
