"""The grid's cells are runs that recipes can describe, and its tables pair them by seed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gate.contract import knobs
from gate.contract.paths import RunPaths
from trainer import documents, grid, grid_table, planted, recipe_file
from trainer.grid import Result
from trainer.grid_cells import METHODS, USERS, WORLDS, Cell, cells
from trainer.run_folder import LaunchError

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
    found = list(cells(range(2)))
    of_methods = 5 * 3 * 2
    assert len({cell.name for cell in found}) == len(found) == 2 * (2 * of_methods + 4 * 2)
    for cell in found:
        config = recipe_file.load(METHODS[cell.method], cell.overrides(tmp_path))
        assert (config.seed, config.policy.kind) == (cell.seed, "checkpoint")
        assert list(config.worlds) == [cell.world]
        assert bool(config.plant) == (cell.condition == "planted")
        assert config.meta_agent.agent == ("operator" if cell.support == "eau" else None)
        planted.check(config.plant, worlds=tuple(config.worlds))


def test_a_cell_is_called_by_all_that_it_is() -> None:
    assert PPO.name == "grid-travel-ppo-symbolic-planted-alone-s0"
    assert replace(PPO, world="colbench", seed=2).name == (
        "grid-colbench-ppo-symbolic-planted-alone-s2"
    )


def test_cells_of_a_seed_come_before_those_of_the_next_and_travel_first_in_each() -> None:
    found = list(cells(range(3)))
    places = [(cell.seed, list(WORLDS).index(cell.world)) for cell in found]
    assert places == sorted(places)
    assert next(iter(WORLDS)) == "travel"


def test_a_world_has_its_own_number_of_seeds_and_one_has_the_ablation_of_users() -> None:
    found = list(cells(range(10)))
    seeds = {world: {cell.seed for cell in found if cell.world == world} for world in WORLDS}
    assert seeds == {"travel": set(range(5)), "colbench": set(range(3))}
    assert {cell.world for cell in found if cell.user in USERS} == {"travel"}


@pytest.mark.parametrize("name", WORLDS)
def test_a_fault_can_be_taken_back_in_one_write(name: str) -> None:
    world, spec = WORLDS[name], knobs.specs()["environment.max_steps"]
    assert spec.max_step.allows(world.faulty_max_steps, world.max_steps)
    assert world.faulty_max_steps < world.max_steps


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_is_the_same_for_a_method_and_in_the_recipe_of_its_start(
    name: str, tmp_path: Path
) -> None:
    start = recipe_file.load(WORLDS[name].recipe)
    cell = recipe_file.load(
        "demo", Cell("ppo", "symbolic", "clean", "alone", 0, name).overrides(tmp_path)
    )
    assert cell.worlds == start.worlds
    assert cell.rollout.max_new_tokens == start.rollout.max_new_tokens
    assert cell.rollout.context_tokens == start.rollout.context_tokens
    assert cell.learner == start.learner
    assert cell.knobs["agent"] == start.knobs["agent"]


def test_every_cell_of_a_world_has_the_same_budget_of_tokens(tmp_path: Path) -> None:
    for cell in cells([0]):
        config = recipe_file.load(METHODS[cell.method], cell.overrides(tmp_path))
        assert config.max_action_tokens == WORLDS[cell.world].budget_tokens


def test_a_difference_is_taken_seed_by_seed() -> None:
    table = grid_table.methods([*pair(0, 0.3, 0.8), *pair(1, 0.5, 0.9)], "travel", "planted")
    assert "| PPO | 0.40 (0.00 to 1.00) | - | 0.85 (0.21 to 1.00) | - | +0.45 (" in table
    assert "(-0.19 to +1.09) | 0.82 | help, help |" in table


def test_pairs_that_are_all_alike_are_no_sign_of_silence() -> None:
    table = grid_table.methods([*pair(0, 0.3, 0.3), *pair(1, 0.5, 0.5)], "travel", "planted")
    assert "| +0.00 (all alike) | - | help, help |" in table


def test_the_naive_baseline_is_compared_with_nobody_by_seed_too() -> None:
    naive = result(replace(PPO, support="naive"), 0.2)
    table = grid_table.methods([*pair(0, 0.3, 0.8), naive], "travel", "planted")
    assert "| 0.20 (1 seed) | 0.80 (1 seed) | -0.10 (1 seed) | +0.50 (1 seed) |" in table


def test_a_difference_that_rounds_to_nothing_is_no_loss() -> None:
    table = grid_table.methods(pair(0, 0.903, 0.9), "travel", "planted")
    assert "+0.00 (1 seed)" in table and "-0.00" not in table


def test_one_seed_has_no_interval() -> None:
    table = grid_table.methods(pair(0, 0.3, 0.8), "travel", "planted")
    assert "| PPO | 0.30 (1 seed) | - | 0.80 (1 seed) | - | +0.50 (1 seed) | - | help |" in table


def test_a_seed_without_its_pair_is_left_out_of_the_difference() -> None:
    lonely = result(replace(PPO, seed=2, support="eau"), 0.1)
    table = grid_table.methods([*pair(0, 0.3, 0.8), lonely], "travel", "planted")
    assert "+0.50 (1 seed)" in table


def test_the_page_says_what_co_evolution_cost() -> None:
    told = grid_table.markdown(pair(0, 0.3, 0.8))
    assert "9 s of a run, 10% of the time" in told
    assert "brought into force: 1 in 1 runs" in told
    assert "a clean world" not in told, "a table without a row is left out"
    assert told.startswith(
        "2 of the 280 cells have been run: 2 in `travel` of 5 seeds, 0 in `colbench` of 3 seeds."
    )


def test_the_page_says_in_how_many_runs_the_operator_changed_nothing() -> None:
    same = [replace(one, curve=(0.4, 0.5)) for one in pair(1, 0.5, 0.5)]
    told = grid_table.cost([*pair(0, 0.5, 0.8), *same])
    assert "In 1 of the 2 that have a run alone beside them" in told
    assert "though in 1 of these it had changed a knob" in told


def test_each_world_has_tables_of_its_own_and_says_what_its_cells_began_with() -> None:
    second = [
        replace(one, cell=replace(one.cell, world="colbench"), start=0.3, action_tokens=60_000)
        for one in pair(0, 0.2, 0.7)
    ]
    told = grid_table.markdown([*pair(0, 0.3, 0.8), *second])
    travel, colbench = told.split("### In `colbench`")
    assert travel.count("| PPO |") == colbench.count("| PPO |") == 1
    assert "| 0.30 (1 seed)" in travel and "| 0.20 (1 seed)" in colbench
    assert "succeed in 0.40." in travel and "succeed in 0.30." in colbench
    assert "75,000 tokens" in travel and "60,000 tokens" in colbench
    assert "not at equal tokens" not in told


def test_cells_that_wrote_unequally_many_tokens_are_told() -> None:
    short, eau = pair(0, 0.3, 0.8)
    told = grid_table.markdown([replace(short, action_tokens=60_000), eau])
    assert "Cells are not at equal tokens: they wrote 60,000 to 75,000." in told


def test_the_ablation_of_users_is_told_where_it_was_run() -> None:
    clean = [replace(one, cell=replace(one.cell, condition="clean")) for one in pair(0, 0.3, 0.8)]
    assert "Who plays the user" not in grid_table.markdown(clean)
    noisy = [replace(one, cell=replace(one.cell, user="noisy")) for one in clean]
    assert "| noisy alone (epsilon 0) | 0.30" in grid_table.markdown([*clean, *noisy])


def test_a_published_page_shows_the_curves_of_every_world_that_was_run(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text("<!-- begin grid: generated, edit its source -->\n<!-- end grid -->\n")
    second = [replace(one, cell=replace(one.cell, world="colbench")) for one in pair(0, 0.2, 0.7)]
    grid_table.publish(second, page)
    assert "(figures/grid-colbench.svg)" in page.read_text()
    assert "in colbench" in (tmp_path / "figures" / "grid-colbench.svg").read_text()
    assert not (tmp_path / "figures" / "grid-travel.svg").exists()


def test_a_page_without_a_place_for_the_tables_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text("nothing\n")
    with pytest.raises(documents.DocumentError, match="no block named grid"):
        grid_table.publish(pair(0, 0.3, 0.8), page)


def test_a_grid_without_cells_says_so() -> None:
    assert grid_table.markdown([]) == "No cell of the grid has been run yet.\n"


def test_the_figure_shows_what_all_runs_have_in_common() -> None:
    short = result(PPO, 0.3, curve=(0.4, 0.5))
    curves = grid_table.curves([*pair(0, 0.3, 0.8), short], "travel")
    assert curves == {"planted, alone": [0.4, 0.5], "planted, eau": [0.4, 0.5, 0.8]}


def test_a_cell_that_was_run_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAU_EVAL_ROOT", str(tmp_path))
    assert grid.stored(PPO) is None
    grid._store(result(PPO, 0.5))
    assert grid.stored(PPO) == result(PPO, 0.5)


def test_what_a_cell_began_with_is_measured_once_for_all_cells_of_its_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAU_EVAL_ROOT", str(tmp_path / "evaluations"))
    grid._store(result(replace(PPO, method="grpo"), 0.5, start=0.4375))
    nobody = RunPaths(tmp_path / "no-run-that-could-be-evaluated")
    assert grid._started_at(PPO, nobody) == 0.4375
    with pytest.raises(LaunchError):
        grid._started_at(replace(PPO, seed=1), nobody)


def test_a_step_without_a_finished_episode_is_no_failure_in_the_figure() -> None:
    results = [
        result(PPO, 0.5, curve=(0.4, None, 0.5)),
        result(replace(PPO, seed=1), 0.5, curve=(0.2, 0.3, None, 0.7)),
    ]
    curves = grid_table.curves(results, "travel")
    assert curves == {"planted, alone": [pytest.approx(0.3), 0.3, 0.5]}
