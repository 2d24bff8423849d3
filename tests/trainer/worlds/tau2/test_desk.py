"""At a desk a turn is a call or words, only the user ends it, and every ending has its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.worlds.tau2.desks import BASES, COMPLETE, DISMISSAL, call, desk, say, task
from trainer.episode import StopReason
from trainer.message import Action, Choice, Reply, read_action
from trainer.worlds.calls import Act, Fault, Judge, Start
from trainer.worlds.local import LocalHost
from trainer.worlds.tau2.desk import Desk
from trainer.worlds.tau2.verdicts import ENDED
from trainer.worlds.tau2_mock.tools import DOMAIN

GOODBYE = Reply("That is all. Goodbye.", ends=True)


def complete(made: Desk) -> None:
    assert call(made, "update_task_status", task_id="task_1", status="completed").events == (
        "written",
    )


def test_the_agent_reads_rules_policy_and_tools_first() -> None:
    full = Desk(DOMAIN, task(), BASES, {"max_steps": 7}, policy="Be kind.", metric="pass").start()
    assert "Be kind." in full.system and "You have 7 turns" in full.system
    for name in DOMAIN.agent.tools:
        assert f'"name": "{name}"' in full.system
    assert "dismiss_notification" not in full.system
    short = Desk(DOMAIN, task(), BASES, {"prompt_style": "compact"}, policy="P", metric="pass")
    assert "create_task(user_id, title, description?): Create a task" in short.start().system
    with pytest.raises(ValueError, match="choose compact or full"):
        Desk(DOMAIN, task(), BASES, {"prompt_style": "long"}, policy="P", metric="pass")


def test_fault_empty_first_observation_there_is_something_to_read_at_once() -> None:
    opening = Desk(DOMAIN, task(), BASES, {}, policy="P", metric="pass").start()
    assert opening.system.strip() and opening.user.strip()


def test_fault_exceptions_as_zero_a_program_that_breaks_is_no_zero(tmp_path: Path) -> None:
    broken = (
        "from trainer.worlds.tau2.desk import Desk\n"
        "from trainer.worlds.tau2.office import Bases, Domain\n"
        "from trainer.worlds.tau2.toolkit import read, toolkit\n\n\n"
        "@read\ndef look(db) -> str:\n    'Look.'\n    return db.root['no such table']\n\n\n"
        "def make(task, *, settings, seed):\n"
        "    domain = Domain('broken', toolkit(look))\n"
        "    return Desk(domain, task, Bases(), settings, policy='P', metric='pass')\n"
    )
    (tmp_path / "env.py").write_text(broken)
    with LocalHost({"tau2_mock": tmp_path}) as host:
        host.open("e", task(actions=[]), settings={}, seed=1)
        host.call({"e": Start()}, deadline_s=5.0)
        looked = Act(Action(Choice.TOOL, "", "look", {}))
        (result,) = host.call({"e": looked}, deadline_s=5.0).values()
        assert isinstance(result, Fault) and result.stop is StopReason.WORLD_ERROR
        assert "no such table" in result.detail
        (judged,) = host.call({"e": Judge()}, deadline_s=5.0).values()
    assert judged == result


def test_messages_from_before_are_shown_and_their_calls_are_made_again() -> None:
    create = {"name": "create_task", "arguments": {"user_id": "user_1", "title": "Dust"}}
    history = [
        {"role": "user", "content": "A new one, please."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", **create}]},
        {"role": "tool", "id": "1", "content": "made"},
    ]
    made = Desk(
        DOMAIN,
        task({"initial_state": {"message_history": history}}),
        BASES,
        {},
        policy="P",
        metric="pass",
    )
    system = made.start().system
    assert "user: A new one, please." in system
    assert 'assistant: create_task({"user_id": "user_1", "title": "Dust"})' in system
    assert "task_2" in call(made, "get_users").observation


def test_a_result_comes_back_to_the_agent_alone() -> None:
    result = call(desk(task()), "get_users")
    assert result.say is None and result.events == ("looked_up",)
    assert result.observation.startswith('[{"user_id": "user_1"')


def test_done_and_left_in_peace_is_solved() -> None:
    made = desk(task())
    complete(made)
    result = made.hear(GOODBYE)
    assert result.stop is StopReason.SOLVED and result.observation == ENDED
    assert result.events == ("off_topic", "user_ended")
    verdict = made.verdict()
    assert verdict.success == verdict.reward == verdict.metrics["pass"] == 1.0


def test_left_too_early_is_failed() -> None:
    made = desk(task())
    result = made.hear(GOODBYE)
    assert result.stop is StopReason.FAILED
    assert made.verdict().metrics["db_changes"] == 1.0
    assert made.verdict().success == 0.0


def test_tau2_bench_82_what_was_cut_is_judged_and_earns_nothing() -> None:
    made = desk(task())
    complete(made)
    verdict = made.verdict()
    assert verdict.metrics["db"] == 1.0 and verdict.metrics["ended"] == 0.0
    assert verdict.success == verdict.reward == 0.0


def test_strands_env_168_an_agent_cannot_end_the_dialogue_with_profit() -> None:
    made = desk(task())
    complete(made)
    result = made.act(Action(Choice.FINISH, ""))
    assert result.stop is StopReason.FAILED and result.events == ("finished",)
    assert made.verdict().reward == 0.0
    words = say(desk(task()), "All done. ###STOP###")
    assert words.stop is None and words.say == "All done. ###STOP###"


def test_a_user_who_was_handed_over_leaves_with_the_words_that_follow() -> None:
    transfer = {"name": "transfer_to_human_agents", "arguments": {}, "compare_args": []}
    made = desk(task(actions=[transfer], reward_basis=["DB", "ACTION"]))
    assert call(made, "transfer_to_human_agents", summary="x").events == ("transferred",)
    assert made.verdict().success == 0.0
    result = say(made, "PLEASE HOLD ON.")
    assert result.say is None and result.events == ("handed_over",)
    assert result.stop is StopReason.SOLVED and result.observation == ENDED


def test_geode_2859_a_refused_call_is_answered_counted_and_changes_nothing() -> None:
    made = desk(task())
    result = call(made, "update_task_status", task_id="task_9", status="completed")
    assert result.observation == "Error: Task task_9 not found"
    assert result.events == ("tool_error",) and result.stop is None
    assert made.verdict().metrics["tool_errors"] == 1.0


def test_a_refusal_that_quotes_half_a_character_still_travels() -> None:
    result = call(desk(task()), "update_task_status", task_id="\ud800", status="completed")
    assert result.observation == "Error: Task ? not found"
    assert result.observation.encode()


def test_verifiers_1692_too_many_errors_have_a_name_of_their_own() -> None:
    made = desk(task(), max_tool_errors=3)
    results = [call(made, "update_task_status") for _ in range(3)]
    assert [result.stop for result in results] == [None, None, StopReason.FAILED]
    assert results[-1].events == ("tool_error", "too_many_errors")
    assert made.verdict().success == 0.0


def test_tau2_bench_273_an_invented_tool_is_malformed_and_the_episode_goes_on() -> None:
    made = desk(task())
    result = call(made, "delete_task", task_id="task_1")
    assert result.events == ("malformed",) and "delete_task" in result.observation
    complete(made)
    assert made.hear(GOODBYE).stop is StopReason.SOLVED


def test_a_tool_of_the_users_is_none_of_the_agents() -> None:
    result = call(desk(task()), "dismiss_notification", notification_id="n1")
    assert result.events == ("malformed",)


@pytest.mark.parametrize("text", ["[search] orders", "[answer] done", "<tool_call>{}</tool_call>"])
def test_there_is_nothing_but_calls_and_words(text: str) -> None:
    result = desk(task()).act(read_action(text))
    assert result.events == ("malformed",) and result.stop is None and result.reward == 0.0


def test_what_a_user_does_goes_with_what_the_user_tells() -> None:
    status = {"notification_id": "n1", "expected_status": "read"}
    made = desk(
        task(
            actions=[COMPLETE, {"requestor": "user", **DISMISSAL}],
            env_assertions=[
                {"env_type": "user", "func_name": "assert_notification_status", "arguments": status}
            ],
            reward_basis=["DB", "ENV_ASSERTION", "ACTION"],
        )
    )
    complete(made)
    assert made.verdict().metrics["env_assertion"] == 0.0
    assert made.hear(Reply("Dismissed.", ("F2",))).events == ("fact_learnt",)
    assert made.hear(Reply("Dismissed.", ("F2",))).events == ("off_topic",)
    assert made.hear(GOODBYE).stop is StopReason.SOLVED


def test_tolokaforge_611_words_and_a_goodbye_in_one_message_lose_neither() -> None:
    made = desk(task())
    complete(made)
    result = made.hear(Reply("I mean task_1. Goodbye.", ("F1",), ends=True))
    assert result.events == ("fact_learnt", "user_ended")
    assert made.verdict().metrics["facts_learnt"] == 0.5
