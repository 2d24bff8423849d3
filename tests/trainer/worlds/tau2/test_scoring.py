"""A reward is the product of its basis; every component is judged, and none is passed unseen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trainer.worlds.tau2.desks import BASES, COMPLETE
from trainer.worlds.tau2.case import Component, NamedCall, Side, read_case, unknown_keys
from trainer.worlds.tau2.office import Office, close_by_gold, open_office
from trainer.worlds.tau2.scoring import Scorecard, basis_in_force, is_said, score
from trainer.worlds.tau2_mock.tools import DOMAIN

DONE = NamedCall(Side.AGENT, "update_task_status", {"task_id": "task_1", "status": "completed"})
CREATE = NamedCall(Side.AGENT, "create_task", {"user_id": "user_1", "title": "Dust"})


def record(**criteria: Any) -> dict[str, Any]:
    return {"id": "t", "evaluation_criteria": criteria}


def judged(
    criteria: dict[str, Any], *calls: NamedCall, said: tuple[str, ...] = (), **more: Any
) -> Scorecard:
    case = read_case(record(**criteria))
    office = open_office(DOMAIN, case, BASES)
    for call in calls:
        office.call(call)
    return score(DOMAIN, case, BASES, office, said, **{"ended": True, **more})


def test_the_basis_is_db_and_communicate_unless_the_record_says_otherwise() -> None:
    assert read_case(record(actions=[])).basis == (Component.DB, Component.COMMUNICATE)
    assert read_case(record(reward_basis=["ACTION"])).basis == (Component.ACTION,)
    with pytest.raises(ValueError, match="STYLE"):
        read_case(record(reward_basis=["STYLE"]))


def test_the_database_must_be_what_gold_makes_of_it() -> None:
    criteria = {"actions": [COMPLETE]}
    assert judged(criteria, DONE).reward == 1.0
    missed = judged(criteria)
    assert missed.reward == 0.0 and not missed.met[Component.DB]
    assert missed.agent_changes[0].pointer == "/tasks/task_1/status"
    assert judged(criteria, DONE, CREATE).reward == 0.0


def test_reading_and_being_refused_change_nothing() -> None:
    look = NamedCall(Side.AGENT, "get_users")
    refused = NamedCall(Side.AGENT, "update_task_status", {"task_id": "x", "status": "completed"})
    assert judged({"actions": [COMPLETE]}, look, refused, DONE).reward == 1.0


def test_tau_bench_16_the_right_words_alone_earn_nothing() -> None:
    criteria = {"actions": [COMPLETE], "communicate_info": ["completed"]}
    talked = judged(criteria, said=("It is completed.",))
    assert talked.met[Component.COMMUNICATE] and talked.reward == 0.0
    assert judged(criteria, DONE).unsaid == ("completed",)
    assert judged(criteria, DONE, said=("It is COMPLETED.",)).reward == 1.0


def test_thousands_separators_do_not_matter() -> None:
    assert is_said("1628", ["It is $1,628 in all."])
    assert is_said("1,628", ["it is 1628"])
    assert not is_said("1628", ["It is 1 628.", ""])


def test_fault_omitted_arguments_a_call_that_leaves_an_argument_out_does_not_match() -> None:
    described = {**CREATE.arguments, "description": "all of it"}
    criteria = {
        "actions": [{"name": "create_task", "arguments": described}],
        "reward_basis": ["ACTION"],
    }
    assert judged(criteria, CREATE).met[Component.ACTION] is False
    assert judged(criteria, CREATE).unmatched[0].call.name == "create_task"
    whole = NamedCall(Side.AGENT, "create_task", described)
    assert judged(criteria, whole).reward == 1.0


def test_an_action_is_compared_on_the_arguments_named_or_on_its_name_alone() -> None:
    def criteria(compare: list[str]) -> dict[str, Any]:
        action = {
            "name": "create_task",
            "arguments": dict(CREATE.arguments),
            "compare_args": compare,
        }
        return {"actions": [action], "reward_basis": ["ACTION"]}

    other = NamedCall(Side.AGENT, "create_task", {"user_id": "user_1", "title": "Mop"})
    assert judged(criteria(["user_id"]), other).reward == 1.0
    assert judged(criteria(["title"]), other).reward == 0.0
    assert judged(criteria([]), other).reward == 1.0


def test_tau2_bench_499_refused_gold_actions_are_counted_and_not_taken() -> None:
    action = {"name": "create_task", "arguments": {"user_id": "nobody", "title": "Dust"}}
    call = NamedCall(Side.AGENT, "create_task", action["arguments"])
    card = judged({"actions": [action], "reward_basis": ["ACTION"]}, call)
    assert card.reward == 0.0
    assert card.gold_faults[0].text == "Error: User nobody not found"


def test_assertions_ask_the_side_they_name() -> None:
    status = {"notification_id": "n1", "expected_status": "read"}
    assertion = {"env_type": "user", "func_name": "assert_notification_status", "arguments": status}
    criteria: dict[str, Any] = {"env_assertions": [assertion], "reward_basis": ["ENV_ASSERTION"]}
    dismissal = NamedCall(Side.USER, "dismiss_notification", {"notification_id": "n1"})
    assert judged(criteria).failed_assertions[0].call.name == "assert_notification_status"
    assert judged(criteria, dismissal).reward == 1.0
    criteria["env_assertions"][0]["assert_value"] = False
    assert judged(criteria).reward == 1.0


def test_a_check_that_is_not_there_is_a_fault_of_the_data() -> None:
    criteria = {"env_assertions": [{"env_type": "user", "func_name": "assert_mood"}]}
    with pytest.raises(ValueError, match="mock has no check 'assert_mood' for user"):
        judged(criteria)


def test_without_a_judge_statements_are_counted_and_never_passed() -> None:
    criteria = {
        "actions": [COMPLETE],
        "communicate_info": ["thank you"],
        "nl_assertions": ["The agent is kind.", "The agent is quick."],
        "reward_basis": ["DB", "NL_ASSERTION"],
    }
    silent = judged(criteria, DONE)
    assert silent.basis == (Component.DB, Component.COMMUNICATE)
    assert silent.num_unjudged == 2 and silent.reward == 0.0
    assert Component.NL_ASSERTION not in silent.met
    assert judged(criteria, DONE, said=("Thank you!",)).reward == 1.0
    assert judged(criteria, DONE, nl_met=True).basis == (Component.DB, Component.NL_ASSERTION)
    assert judged(criteria, DONE, nl_met=True).num_unjudged == 0
    assert judged(criteria, DONE, said=("Thank you!",), nl_met=False).reward == 0.0


def test_a_stand_in_that_is_in_the_basis_already_counts_once() -> None:
    case = read_case(record(reward_basis=["DB", "COMMUNICATE", "NL_ASSERTION"]))
    assert basis_in_force(case) == (Component.DB, Component.COMMUNICATE)


def test_nothing_is_earned_before_the_user_has_gone() -> None:
    assert judged({"actions": [COMPLETE]}, DONE, ended=False).reward == 0.0


def test_a_record_without_actions_and_assertions_compares_no_state() -> None:
    assert judged({"communicate_info": []}, CREATE).reward == 1.0
    assert judged({"actions": []}, CREATE).reward == 0.0


def test_tau_bench_92_scoring_leaves_the_dialogue_as_it_was() -> None:
    case = read_case(record(actions=[COMPLETE]))
    office = open_office(DOMAIN, case, BASES)
    for _ in range(2):
        assert score(DOMAIN, case, BASES, office, (), ended=True).reward == 0.0
    assert office.log == [] and office.agent.changes() == []


def test_a_case_begins_with_data_then_changes_then_past_calls() -> None:
    create = {"name": "create_task", "arguments": dict(CREATE.arguments)}
    started = {
        "initialization_data": {"agent_data": {"users": {"user_1": {"name": "Anna"}}}},
        "initialization_actions": [
            {
                "env_type": "user",
                "func_name": "add_notification",
                "arguments": {"notification_id": "n2", "message": "New."},
            }
        ],
        "message_history": [{"role": "assistant", "tool_calls": [{"id": "1", **create}]}],
    }
    case = read_case(record(actions=[]) | {"initial_state": started})
    office: Office = open_office(DOMAIN, case, BASES)
    assert office.agent.get("users", "user_1") == {
        "user_id": "user_1",
        "name": "Anna",
        "tasks": ["task_1", "task_2"],
    }
    assert office.user.get("notifications", "n2", "status") == "unread"
    assert office.log == []
    assert close_by_gold(DOMAIN, case, BASES).agent.changes(office.agent) == []


def test_a_change_that_is_not_there_is_a_fault_of_the_data() -> None:
    setup = {"env_type": "assistant", "func_name": "shuffle", "arguments": {}}
    case = read_case(record() | {"initial_state": {"initialization_actions": [setup]}})
    with pytest.raises(ValueError, match="mock has no function 'shuffle' for assistant"):
        open_office(DOMAIN, case, BASES)


def test_fault_dropped_keys_keys_that_nothing_reads_are_told_at_every_level() -> None:
    odd = {
        "id": "t",
        "evalution_criteria": {},
        "user_scenario": {"persona": None, "mood": "bad"},
        "evaluation_criteria": {"actions": [{"name": "x", "argments": {}}], "reward": 1},
        "initial_state": {"initialization_actions": [{"func": "x"}]},
    }
    assert sorted(unknown_keys(odd)) == [
        "evaluation_criteria.actions.argments",
        "evaluation_criteria.reward",
        "evalution_criteria",
        "initial_state.initialization_actions.func",
        "user_scenario.mood",
    ]
