"""Each knob is declared once and completely; whoever asks gets the same promise."""

from __future__ import annotations

from typing import Any

import pytest

from gate.contract import knobs
from gate.contract.knobs import Harder, Scope, StepKind, StepLimit


def test_the_set_of_knobs_is_the_declared_one() -> None:
    assert list(knobs.specs()) == [
        "user.user_strategy_mix",
        "user.mix_unit",
        "user.facts_per_reply",
        "user.match_threshold",
        "user.max_reveals",
        "user.min_questions",
        "user.reveal_kinds",
        "user.volunteer_after",
        "user.max_reply_chars",
        "user.llm_temperature",
        "user.persona",
        "environment.max_steps",
        "environment.task_mix",
        "environment.per_world_scale",
        "environment.tool_deadline_s",
        "environment.turn_deadline_s",
        "environment.episode_deadline_s",
        "environment.step_deadline_s",
        "environment.drain_deadline_s",
        "environment.max_consecutive_faults",
        "reward.shaping",
        "reward.turn_reward_clip",
        "reward.task_weight",
        "reward.conversation_weight",
        "reward.malformed_floor",
        "agent.entropy_coeff",
        "agent.kl_coeff",
        "agent.clip_low",
        "agent.clip_high",
        "agent.actor_lr",
        "agent.critic_lr",
        "agent.gamma",
        "agent.gae_lambda",
        "agent.ppo_epochs",
        "agent.total_steps",
        "agent.on_disk_full",
    ]


@pytest.mark.parametrize(
    ("path", "low", "high", "default", "harder"),
    [
        ("environment.max_steps", 3, 60, 16, Harder.UP),
        ("user.facts_per_reply", 1, 3, 1, Harder.DOWN),
        ("user.match_threshold", 0, 1, 0.6, Harder.UP),
        ("user.user_strategy_mix", 0, 1, 1.0, Harder.NONE),
        ("agent.entropy_coeff", 0, 0.05, 0.001, Harder.NONE),
        ("agent.actor_lr", 1e-8, 1e-2, 1e-6, Harder.NONE),
    ],
)
def test_ranges_are_those_of_the_papers(
    path: str, low: float, high: float, default: float, harder: Harder
) -> None:
    spec = knobs.specs()[path]
    assert (spec.low, spec.high, spec.default, spec.harder) == (low, high, default, harder)


@pytest.mark.parametrize("spec", knobs.specs().values(), ids=lambda spec: spec.path)
def test_each_knob_keeps_its_own_promises(spec: knobs.KnobSpec) -> None:
    assert spec.path == f"{spec.file}.{spec.key}"
    assert spec.description.endswith(".")
    assert spec.nullable or spec.default is not None
    if spec.harder is not Harder.NONE:
        assert spec.max_step.kind is not StepKind.ANY, "a knob of difficulty has a pace"
    if spec.max_step.kind is StepKind.LOG:
        assert spec.max_step.size is not None and spec.max_step.size > 1
    if spec.file == "agent":
        assert not spec.worlds, "all worlds share one policy"


def test_an_undeclared_keyword_stops_the_program() -> None:
    complete: dict[str, Any] = dict(knobs.specs()["agent.gamma"].schema)
    assert knobs.KnobSpec.declared("travel.patience", complete).path == "travel.patience"
    del complete["x-harder"], complete["description"]
    with pytest.raises(ValueError, match="lacks description, x-harder"):
        knobs.KnobSpec.declared("travel.patience", complete)


def test_there_is_no_schema_of_another_file() -> None:
    with pytest.raises(ValueError, match="no knob file"):
        knobs.schema("users")


@pytest.mark.parametrize(
    ("limit", "old", "new", "allowed"),
    [
        (StepLimit(StepKind.LINEAR, 0.1), 0.6, 0.7, True),
        (StepLimit(StepKind.LINEAR, 0.1), 0.6, 0.71, False),
        (StepLimit(StepKind.LINEAR, 1), 3, 1, False),
        (StepLimit(StepKind.LOG, 10), 1e-6, 1e-5, True),
        (StepLimit(StepKind.LOG, 10), 1e-5, 9e-7, False),
        (StepLimit(StepKind.LOG, 2), 0, 5, True),
        (StepLimit(StepKind.LINEAR, 1), None, 9, True),
        (StepLimit(StepKind.LINEAR, 1), True, 9, True),
        (StepLimit(StepKind.ANY), 0, 1e9, True),
    ],
)
def test_a_write_may_go_as_far_as_its_limit(
    limit: StepLimit, old: Any, new: Any, allowed: bool
) -> None:
    assert limit.allows(old, new) is allowed


def test_a_limit_has_words() -> None:
    assert str(StepLimit(StepKind.LINEAR, 0.1)) == "at most 0.1"
    assert str(StepLimit(StepKind.LOG, 10)) == "at most 10 times"
    assert str(StepLimit(StepKind.ANY)) == "any"


@pytest.mark.parametrize(
    ("path", "old", "new", "harder"),
    [
        ("environment.max_steps", 10, 11, True),
        ("environment.max_steps", 10, 6, False),
        ("user.facts_per_reply", 2, 1, True),
        ("user.facts_per_reply", 1, 1, False),
        ("user.volunteer_after", 3, None, True),
        ("user.volunteer_after", None, 3, False),
        ("user.volunteer_after", None, None, False),
        ("agent.gamma", 0.9, 1.0, False),
    ],
)
def test_the_direction_of_difficulty_is_the_declared_one(
    path: str, old: Any, new: Any, harder: bool
) -> None:
    assert knobs.specs()[path].is_harder(old, new) is harder


def test_scopes_cover_when_a_value_is_in_force() -> None:
    assert knobs.specs()["user.persona"].scope is Scope.ROLLOUT
    assert knobs.specs()["agent.gamma"].scope is Scope.LEARNER


def test_a_knob_that_a_world_declares_is_checked_like_any_other() -> None:
    keywords = {key: value for key, value in knobs.specs()["user.persona"].schema.items()}
    schema = {**keywords, "type": "array", "items": {"type": "integer"}, "default": []}
    spec = knobs.KnobSpec.declared("travel.rooms", schema)
    assert knobs.check_value(spec, [1, 1.0], worlds=()) == ([1, 1], ())
    _, (finding,) = knobs.check_value(spec, [1, "x"], worlds=())
    assert (finding.rule, finding.path) == ("knobs.type", "travel.rooms.1")
