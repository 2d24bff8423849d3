"""A recipe is read whole or refused with place, value and next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer import recipe_file
from trainer.recipe import RunConfig
from trainer.recipe_file import RecipeError


def load(folder: Path, text: str, *overrides: str) -> RunConfig:
    path = folder / "mine.yaml"
    path.write_text(text, "utf-8")
    return recipe_file.load(str(path), overrides)


@pytest.mark.parametrize("name", recipe_file.names())
def test_every_built_in_recipe_is_read(name: str) -> None:
    config = recipe_file.load(name)
    assert recipe_file.from_values(recipe_file.to_values(config)) == config


def test_a_recipe_extends_another_and_keeps_what_it_does_not_name(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("seed: 7\nrollout: {group_size: 2, max_new_tokens: 9}")
    config = load(tmp_path, "extends: base\nrollout: {max_new_tokens: 10}")
    assert (config.name, config.seed) == ("mine", 7)
    assert (config.rollout.group_size, config.rollout.max_new_tokens) == (2, 10)


def test_worlds_are_replaced_and_not_merged(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("worlds: {travel: {}}")
    assert list(load(tmp_path, "extends: base\nworlds: {intention: {}}").worlds) == ["intention"]


def test_held_out_worlds_are_replaced_too_and_never_trained_on(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("held_out: {search: {}}")
    config = load(tmp_path, "extends: base\nheld_out: {intention: {tasks: 'a*'}}")
    assert list(config.held_out) == ["intention"]
    assert config.held_out["intention"].tasks == "a*"
    with pytest.raises(RecipeError, match="held_out: travel is trained on; take it out"):
        load(tmp_path, "held_out: {travel: {}}")


def test_an_override_has_the_last_word_and_its_values_are_yaml(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "total_steps: 9",
        "total_steps=3",
        "worlds.travel.limit=5",
        "policy.warm_start=null",
        "learner.lr_schedule=cosine",
        "policy.size={hidden: 64}",
    )
    assert (config.total_steps, config.worlds["travel"].limit) == (3, 5)
    assert config.policy.warm_start is None
    assert (config.learner.lr_schedule, config.policy.size.hidden) == ("cosine", 64)


def test_the_obvious_number_is_meant(tmp_path: Path) -> None:
    config = load(tmp_path, "policy: {warm_start: {lr: 1e-3}}\nlearner: {temperature: 1}")
    assert config.policy.warm_start is not None
    assert (config.policy.warm_start.lr, config.learner.temperature) == (0.001, 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("totalsteps: 3", "unknown setting 'totalsteps'; did you mean 'total_steps'?"),
        ("rollout: {group: 3}", "rollout: unknown setting 'group'"),
        ("total_steps: many", "total_steps: expected int, found 'many'"),
        ("total_steps: true", "total_steps: expected int, found True"),
        ("total_steps: 1.5", "total_steps: expected int, found 1.5"),
        ("total_steps: [1]", "total_steps: expected int, found [1]"),
        ("total_steps: -1", "total_steps is -1; it must be 0 or more"),
        ("seed: -1", "seed is -1; it must be from 0 to 2**63 - 1"),
        (f"seed: {2**63}", f"seed is {2**63}; it must be from 0 to 2**63 - 1"),
        ("learner: {temperature: .nan}", "temperature: nan is not a finite number"),
        ("learner: {temperature: .inf}", "temperature: inf is not a finite number"),
        ("policy: {kind: huge}", "policy: kind: 'huge' is not one of small, smollm2, path"),
        ("policy: {kind: path}", "set policy.path to its directory"),
        ("policy: 3", "policy: expected a map of settings, found 3"),
        ("worlds: [travel]", "worlds: expected a map, found ['travel']"),
        ("worlds: {}", "name at least one world with a weight above 0"),
        ("worlds: {travel: {weight: 0}}", "name at least one world with a weight above 0"),
        ("rollout: {dialogues_per_step: 0}", "dialogues_per_step and group_size start at 1"),
        ("rollout: {group_size: 5}", "rollout.dialogues_per_step 32 is not a multiple of"),
        ("rollout: {anchor_share: 1.5}", "rollout: anchor_share 1.5 is outside [0, 1]"),
        ("users: {noise: {drift: 2}}", "users: noise: noise rate drift: 2.0 is outside [0, 1]"),
        ("seed: 1\nseed: 2", "not readable YAML"),
        ("seed:\t1\n\trollout: 2", "not readable YAML"),
        ("[" * 400, "not readable YAML"),
        ("- 1", "a recipe is a map of settings, found [1]"),
        ("", "a recipe is a map of settings, found None"),
        ("extends: nowhere", "no recipe 'nowhere'"),
        ("extends: mine", "mine.yaml: extends itself; break the circle"),
        ("seed: !!python/object/apply:os.system [true]", "not readable YAML"),
    ],
)
def test_a_fault_names_place_value_and_next_step(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RecipeError) as refused:
        load(tmp_path, text)
    assert message in str(refused.value)
    assert len(str(refused.value)) < 1000


def test_a_circle_of_recipes_is_broken(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("extends: b")
    (tmp_path / "b.yaml").write_text("extends: a")
    with pytest.raises(RecipeError, match="extends itself"):
        recipe_file.load(str(tmp_path / "a.yaml"))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("total_steps", "write it as a.b=value"),
        ("=3", "write it as a.b=value"),
        ("total_steps.x=3", "total_steps holds 4, not a map"),
        ("rollout.group=3", "unknown setting 'group'"),
        ("seed=[1", "--set seed: not readable YAML"),
    ],
)
def test_a_bad_override_is_named(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(RecipeError) as refused:
        load(tmp_path, "total_steps: 4", override)
    assert message in str(refused.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"name: x # " + b"y" * 300_000])
def test_a_file_that_is_no_recipe_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.yaml").write_bytes(content)
    with pytest.raises(RecipeError, match=r"odd\.yaml: "):
        recipe_file.load(str(tmp_path / "odd.yaml"))


def test_anchors_that_explode_are_told_in_a_short_message(tmp_path: Path) -> None:
    lines = ["a: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    with pytest.raises(RecipeError) as refused:
        load(tmp_path, "\n".join([*lines, "total_steps: *a39"]))
    assert len(str(refused.value)) < 2000


def test_an_unknown_recipe_names_the_built_in_ones() -> None:
    with pytest.raises(RecipeError, match=", ".join(recipe_file.names())):
        recipe_file.load("nothing-like-it")
