"""Every value of the papers' recipes has an origin, and their memory plans fit what they state."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer import recipe_file, reproduction
from trainer.doctor import plan, services, worlds
from trainer.doctor.finding import Level, Patient
from trainer.memory_plan import GIB
from trainer.reproduction import RECIPES, SOURCES, Origin

ONE_GPU = "usergym-qwen3-4b-1gpu"
ADAPTED = "usergym-qwen3-4b-1gpu-lora"
PAPER = {"usergym": (64, 16, 3e-7), "colbench": (64, 10, 3e-7), "tau2": (32, 50, 1e-6)}
"""Dialogues a step, turns, the actor's learning rate."""


def patient(name: str, proc: Path) -> Patient:
    """A recipe on a host of 640 GiB."""
    (proc / "meminfo").write_text(f"MemAvailable: {640 * 2**20} kB\n")
    return Patient(recipe_file.load(name), proc=proc)


def test_every_stated_setting_has_an_origin_and_every_origin_a_setting() -> None:
    assert set(reproduction.stated()) == set(SOURCES)


@pytest.mark.parametrize("name", RECIPES)
def test_what_the_paper_says_is_in_the_recipe(name: str) -> None:
    config = recipe_file.load(name)
    dialogues, turns, rate = PAPER[name.split("-")[0]]
    assert config.rollout.dialogues_per_step == dialogues
    assert config.rollout.max_new_tokens == 1024
    assert config.knobs["environment"]["max_steps"] == turns
    assert config.knobs["agent"]["actor_lr"] == rate
    assert config.knobs["user"]["user_strategy_mix"] == 0.5
    assert config.hardware.gpus == 4
    assert "CoSER" in config.users.endpoint.model
    assert config.users.evaluation.model.startswith("gpt-4o-mini")
    assert not {"intention", "telepathy"} & set(config.worlds)


@pytest.mark.parametrize("name", [*RECIPES, ONE_GPU, ADAPTED])
def test_its_memory_plan_fits_the_gpus_that_it_states(name: str, tmp_path: Path) -> None:
    found = list(plan.fit(patient(name, tmp_path)))
    assert found and all(one.level in (Level.OK, Level.DOUBT) for one in found), found


@pytest.mark.parametrize("name", [*RECIPES, ONE_GPU, ADAPTED])
def test_its_worlds_have_tasks_and_its_knobs_are_acceptable(
    name: str, tmp_path: Path, checkout: Path
) -> None:
    given = Patient(recipe_file.load(name), knobs=checkout / "knobs", proc=tmp_path)
    found = [*worlds.tasks(given), *worlds.knobs(given)]
    assert all(one.level is Level.OK for one in found), found


def test_the_plan_of_the_4b_recipe_is_the_sum_made_by_hand() -> None:
    planned = plan.plan_of(recipe_file.load("usergym-qwen3-4b"))
    assert planned is not None
    parts = {part.name: part for part in planned.parts}
    # Weights at 2 bytes and gradients at 4 of 4,022,468,096 numbers. On the host masters and
    # averages at 12, the gradients of the step at 4 and weights on their way back at 2.
    assert parts["actor"].gpu == 6 * 4_022_468_096
    assert parts["actor"].host == 18 * 4_022_468_096
    assert parts["gradient buckets"].gpu == 2 * 50_000_000
    # The critic has a value for a head: its embedding is tied, so it has 2,561 numbers more.
    assert parts["critic"].gpu == 6 * (4_022_468_096 + 2561)
    assert parts["reference"].gpu == 2 * 4_022_468_096
    assert planned.gpu < 60 * GIB


def test_the_plan_of_adapters_on_one_gpu_is_the_sum_made_by_hand() -> None:
    planned = plan.plan_of(recipe_file.load(ADAPTED))
    assert planned is not None
    parts = {part.name: part for part in planned.parts}
    # Rank 32 on seven maps of 36 blocks: inputs and outputs 2560, 4096, 1024 and 9728.
    maps = (2560 + 4096) * 2 + (2560 + 1024) * 2 + (2560 + 9728) * 3
    assert parts["actor"].gpu == 36 * 32 * maps * (4 + 4 + 8 + 12)
    assert parts["critic"].gpu == (36 * 32 * maps + 2561) * (4 + 4 + 8 + 12)
    assert parts["frozen base"].gpu == 2 * 4_022_468_096
    assert "reference" not in parts and planned.gpu < 40 * GIB


def test_four_ranks_split_gradients_and_keep_whole_weights() -> None:
    planned = plan.plan_of(recipe_file.load("usergym-qwen2.5-7b"))
    assert planned is not None
    # 2 + 4/4 bytes of 7,615,616,512 numbers.
    assert planned.parts[0].gpu == 3 * 7_615_616_512


def test_ranks_need_a_port_to_meet_and_one_process_none() -> None:
    seven = recipe_file.load("usergym-qwen2.5-7b")
    taken = Patient(seven, environment={"MASTER_PORT": "no port"})
    assert [one.level for one in services.ports(taken)] == [Level.FAULT]
    free = Patient(seven, environment={"MASTER_PORT": "0"})
    assert [one.level for one in services.ports(free)] == [Level.OK]
    assert list(services.ports(Patient(recipe_file.load("demo")))) == []


def test_the_page_marks_every_value_by_its_origin(checkout: Path) -> None:
    page = (checkout / "docs/reproducing.md").read_text("utf-8")
    for path, source in SOURCES.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{path}` |")]
        assert f"| {source.origin.value} |" in row
    assert all(f"| {origin.value} |" in page for origin in Origin)


def test_the_page_names_a_command_for_every_recipe(checkout: Path) -> None:
    page = (checkout / "docs/reproducing.md").read_text("utf-8")
    for name in (*RECIPES[:4], ONE_GPU, ADAPTED):
        assert f"train {name}" in page or f"`{name}`" in page
