"""What a turn and an ending pay: by rule, once or often, where it holds, bounded and scaled."""

from __future__ import annotations

import pytest

from gate.contract import knobs
from trainer.episode import RewardEvent
from trainer.rollout import reward
from trainer.rollout.reward import RewardScheme, ShapingRule, pay_end, pay_turn

ASK = ShapingRule("ask", "asked", 0.1)
FIRST = ShapingRule("first", "asked", 0.5, once=True)


def turn(
    scheme: RewardScheme,
    *events: str,
    turn: int = 2,
    world: str = "travel",
    task_reward: float = 0.0,
    paid: frozenset[str] = frozenset(),
) -> list[RewardEvent]:
    return pay_turn(
        scheme, world=world, turn=turn, task_reward=task_reward, events=events, paid=paid
    )


def test_a_rule_pays_for_each_of_its_events_and_for_no_other() -> None:
    paid = turn(RewardScheme((ASK,)), "asked", "searched", "asked")
    assert paid == [RewardEvent("ask", 0.1, 2)] * 2


def test_a_rule_that_pays_once_pays_once_in_a_turn_and_in_an_episode() -> None:
    scheme = RewardScheme((FIRST,))
    assert turn(scheme, "asked", "asked") == [RewardEvent("first", 0.5, 2)]
    assert turn(scheme, "asked", paid=frozenset({"first"})) == []


@pytest.mark.parametrize(
    ("where", "world", "number", "pays"),
    [
        ({"world": "travel"}, "travel", 0, True),
        ({"world": "travel"}, "intention", 0, False),
        ({"from_turn": 2}, "travel", 1, False),
        ({"from_turn": 2}, "travel", 2, True),
        ({"until_turn": 2}, "travel", 2, True),
        ({"until_turn": 2}, "travel", 3, False),
        ({"world": "travel", "from_turn": 1, "until_turn": 1}, "travel", 1, True),
        ({"world": "travel", "from_turn": 1, "until_turn": 1}, "travel", 0, False),
    ],
)
def test_a_rule_pays_where_all_its_conditions_hold(
    where: dict[str, object], world: str, number: int, pays: bool
) -> None:
    scheme = RewardScheme((ShapingRule("ask", "asked", 0.1, where=where),))
    assert bool(turn(scheme, "asked", world=world, turn=number)) == pays


@pytest.mark.parametrize("sign", [1, -1])
def test_shaping_of_a_turn_is_bounded_and_the_bound_is_a_payment_of_its_own(sign: int) -> None:
    rules = (ShapingRule("a", "asked", 0.3 * sign), ShapingRule("b", "asked", 0.4 * sign))
    paid = turn(RewardScheme(rules, turn_reward_clip=0.5), "asked", task_reward=1.0)
    by_rule = {event.rule: event.value for event in paid}
    assert by_rule.pop("task") == 1.0, "the verifier's word is not shaping"
    assert sum(by_rule.values()) == pytest.approx(0.5 * sign)
    assert by_rule["turn_clip"] == pytest.approx(-0.2 * sign)


def test_shaping_within_the_bound_is_left_alone() -> None:
    paid = turn(RewardScheme((ASK,), turn_reward_clip=0.1), "asked")
    assert [event.rule for event in paid] == ["ask"]


def test_weights_and_scale_multiply_what_they_say() -> None:
    scheme = RewardScheme((ASK,), task_weight=2.0, conversation_weight=3.0, scale=10.0)
    paid = turn(scheme, "asked", task_reward=1.0)
    assert [(one.rule, one.turn) for one in paid] == [("ask", 2), ("task", 2)]
    assert [one.value for one in paid] == pytest.approx([3.0, 20.0])
    (rest,) = pay_end(scheme, turn=4, task_reward=0.5, policy_fault=False)
    assert (rest.rule, rest.turn) == ("task", 4)
    assert rest.value == pytest.approx(10.0)


def test_a_scale_moves_the_bound_with_the_payments() -> None:
    rule = ShapingRule("a", "asked", 1.0)
    one = turn(RewardScheme((rule,), turn_reward_clip=0.5), "asked")
    ten = turn(RewardScheme((rule,), turn_reward_clip=0.5, scale=10.0), "asked")
    assert [event.value for event in ten] == [10 * event.value for event in one]


def test_nothing_earned_is_no_payment() -> None:
    assert turn(RewardScheme((ASK,)), "searched") == []
    assert pay_end(RewardScheme(), turn=1, task_reward=0.0, policy_fault=False) == []


def test_a_policy_that_broke_the_protocol_gets_the_floor_and_not_the_verifiers_rest() -> None:
    scheme = RewardScheme(malformed_floor=-0.5, scale=2.0)
    paid = pay_end(scheme, turn=1, task_reward=1.0, policy_fault=True)
    assert paid == [RewardEvent("floor", -1.0, 1)]


def test_a_scheme_is_what_the_knobs_of_a_world_say() -> None:
    values = {
        **knobs.defaults().values["reward"],
        "shaping": [
            {"id": "ask", "event": "asked", "value": 1, "once": True, "where": {"from_turn": 1}}
        ],
        "turn_reward_clip": 0.3,
        "malformed_floor": -0.2,
    }
    scheme = reward.scheme(values, scale=0.5)
    assert scheme.rules == (ShapingRule("ask", "asked", 1.0, True, {"from_turn": 1}),)
    assert (scheme.turn_reward_clip, scheme.malformed_floor, scheme.scale) == (0.3, -0.2, 0.5)
    assert scheme.task_weight == values["task_weight"]
