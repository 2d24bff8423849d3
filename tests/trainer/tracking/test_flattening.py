"""A step's numbers have names made from their declarations, and none is left out."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files
from gate.contract.paths import RunPaths
from gate.contract.records import StepRecord
from trainer.tracking.flattening import numbers


@pytest.fixture
def golden(checkout: Path) -> list[dict[str, Any]]:
    """The steps of the run that was recorded for ever."""
    return list(files.read_lines(RunPaths(checkout / "tests/golden/run-v1").steps).records)


def test_a_recorded_step_has_these_numbers_under_these_names(golden: list[dict[str, Any]]) -> None:
    found = numbers(golden[1])
    expected = {
        "rollout/success": 0.25,
        "rollout/revision": 1.0,
        "rollout/agent_turns": 5.0,
        "rollout/updated": 1.0,
        "success_by_arm/noisy": 0.0,
        "success_by_arm/symbolic": 0.333333333,
        "episodes_by_arm/symbolic": 3.0,
        "stop_reasons/out_of_steps": 1.0,
        "reward_by_rule/task": 0.5,
        "metrics/travel.wishes_learnt": 0.25,
        "learner/entropy": 0.08830396334330241,
        "learner/actor_lr": golden[1]["learner"]["actor_lr"],
        "time/step_s": golden[1]["step_s"],
    }
    assert expected.items() <= found.items()


def test_every_number_of_a_recorded_step_has_one_name_and_nothing_else_has(
    golden: list[dict[str, Any]],
) -> None:
    for record in golden:
        found = numbers(record)
        flat = {key: value for key, value in record.items() if not isinstance(value, dict)}
        maps = {key: value for key, value in record.items() if isinstance(value, dict)}
        known = [v for k, v in flat.items() if isinstance(v, int | float) and k not in _AXES]
        known += [value for inner in maps.values() for value in inner.values()]
        assert sorted(found.values()) == sorted(map(float, known))
        assert all(isinstance(value, float) for value in found.values())


_AXES = ("step", "time")


def test_every_declared_field_that_could_hold_a_number_has_a_name() -> None:
    text = {"knobs_digest", "params_digest"}
    record = {
        one.name: {"key": 2} if "Mapping" in str(one.type) else 1 for one in fields(StepRecord)
    }
    named = {name.split("/")[0 if name.endswith("/key") else 1] for name in numbers(record)}
    declared = {one.name for one in fields(StepRecord)}
    assert named == declared - {*_AXES}
    assert not any(name.split("/")[-1] in text for name in numbers({**record, **_digests(text)}))


def _digests(names: set[str]) -> dict[str, str]:
    return dict.fromkeys(names, "bf631e0b")


def test_maps_within_maps_name_each_level() -> None:
    sides = {"new": {"symbolic": {"success": 0.5, "episodes": 8}}, "old": {}}
    by_side = {"anchor": {"started": 2}}
    assert numbers({"step": 3, "sides": sides, "by_side": by_side}) == {
        "sides/new/symbolic/success": 0.5,
        "sides/new/symbolic/episodes": 8.0,
        "by_side/anchor/started": 2.0,
    }


def test_what_is_null_text_or_not_finite_is_left_out() -> None:
    record = {
        "success": None,
        "reward": float("nan"),
        "task_reward": float("inf"),
        "agent_turns": "five",
        "facts_revealed": [1, 2],
        "learner": {"kl": float("-inf"), "entropy": 0.5, "note": "x", "none": None},
        "undeclared": 1.0,
    }
    assert numbers(record) == {"learner/entropy": 0.5}


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("a/b", "reward_by_rule/a%2Fb"),
        ("../up", "reward_by_rule/..%2Fup"),
        ("two words\n", "reward_by_rule/two%20words%0A"),
        ("ü", "reward_by_rule/%C3%BC"),
        ("plain_1.x-y~z", "reward_by_rule/plain_1.x-y~z"),
        ("a%2Fb", "reward_by_rule/a%252Fb"),
    ],
)
def test_a_key_from_a_world_can_neither_make_a_level_nor_meet_another(key: str, name: str) -> None:
    assert numbers({"reward_by_rule": {key: 1}}) == {name: 1.0}


def test_a_map_without_end_is_followed_as_deep_as_any_record_goes() -> None:
    deep: dict[str, Any] = {"leaf": 1}
    for _ in range(500):
        deep = {"in": deep, "here": 2}
    assert numbers({"sides": deep}) == {
        "sides/here": 2.0,
        "sides/in/here": 2.0,
        "sides/in/in/here": 2.0,
        "sides/in/in/in/here": 2.0,
    }
