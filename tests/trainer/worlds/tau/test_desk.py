"""At the older benchmark's desks UserGym's faults are mended, and its moves and ends are kept."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.conformance import env_suite
from tests.conformance.env_suite import Cast
from trainer.episode import Episode, Speaker, StopReason, Turn
from trainer.message import Action, Choice, Reply, read_action
from trainer.rollout.scripted import play
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.loading import verifier_of
from trainer.worlds.seam import StepResult
from trainer.worlds.tau import oracle, reading
from trainer.worlds.tau2 import shelf
from trainer.worlds.tau2.case import read_case
from trainer.worlds.tau2.verdicts import ENDED

HAND_OVER = '[answer] {"name": "transfer_to_human_agents", "arguments": {"summary": "Over."}}'
LEAVE = "[action] Is there anything else?"


@pytest.fixture(scope="module")
def cast() -> Cast:
    return env_suite.cast("tau")


def task_named(name: str) -> Task:
    (found,) = (task for task in catalog.tasks("tau", "train") if task.id == name)
    return found


def gold(task: Task) -> list[str]:
    return [oracle.answer(call) for call in oracle.writes(task)]


class Script:
    """An agent that writes its lines one after the other, the last one again and again."""

    def __init__(self, *lines: str) -> None:
        self._lines = lines

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next line."""
        said = sum(turn.speaker is Speaker.AGENT for turn in turns)
        return self._lines[min(said, len(self._lines) - 1)]


def scripted(cast: Cast, task: Task, *lines: str, max_steps: int = 16) -> Episode:
    return play(
        task,
        Script(*lines),
        env=cast.env(task),
        user=cast.user,
        user_settings=cast.user_settings,
        max_steps=max_steps,
        seed=1,
    )


def act(cast: Cast, task: Task, *texts: str) -> list[StepResult]:
    env = cast.env(task)
    env.start()
    return [env.act(read_action(text)) for text in texts]


@pytest.mark.parametrize("style", ["compact", "full"])
@pytest.mark.parametrize("name", ["tau-shop-cancel-1", "tau-trip-bags-1"])
def test_usergym_fault_5_the_agent_reads_the_policy_that_gold_follows(
    cast: Cast, name: str, style: str
) -> None:
    task = task_named(name)
    opening = cast.env(task, style=style).start()
    (policy,) = shelf.policy(task)
    assert policy.strip() in opening.system
    assert opening.user == task.opening


def test_usergym_fault_6_the_last_call_of_an_episode_is_carried_out(cast: Cast) -> None:
    task = task_named("tau-trip-cancel-insured-1")
    waiting = ["[action] One moment."] * 13
    episode = scripted(cast, task, *waiting, "[search] tools", *gold(task), HAND_OVER)
    assert sum(turn.speaker is Speaker.AGENT for turn in episode.turns) == 16
    assert (episode.stop, episode.total_reward) == (StopReason.SOLVED, 1.0)
    cut = scripted(cast, task, *waiting, "[search] tools", "[search] tools", *gold(task))
    assert (cut.stop, cut.total_reward) == (StopReason.OUT_OF_STEPS, 0.0)
    assert (cut.metrics["db"], cut.metrics["ended"]) == (1.0, 0.0)


def test_usergym_fault_17_two_calls_in_a_turn_are_none(cast: Cast) -> None:
    task = task_named("tau-shop-cancel-and-move-1")
    calls = "".join(
        f"<tool_call>{line.removeprefix('[answer] ')}</tool_call>" for line in gold(task)
    )
    assert calls.count("<tool_call>") == 2
    (result,) = act(cast, task, calls)
    assert result.events == ("malformed",) and "one tool call a turn" in result.observation


def test_usergym_fault_18_the_world_never_waits_for_a_user_or_a_model(cast: Cast) -> None:
    (result,) = act(cast, task_named("tau-shop-cancel-1"), "[action] Who are you?")
    assert result == StepResult(say="Who are you?")
    for path in cast.world.folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert not isinstance(node, ast.AsyncFunctionDef | ast.Await)
            assert not module.startswith(("trainer.users", "trainer.rollout", "asyncio", "httpx"))


def test_usergym_fault_19_leaving_pays_nothing_and_never_a_second_time(cast: Cast) -> None:
    task = task_named("tau-trip-cancel-insured-1")
    left = scripted(cast, task, *gold(task), "[finish]")
    assert (left.stop, left.total_reward, left.metrics["db"]) == (StopReason.FAILED, 0.0, 1.0)
    won = scripted(cast, task, *gold(task), LEAVE)
    assert won.total_reward == 1.0
    again = (*won.turns, Turn(Speaker.AGENT, "[finish]", 2), Turn(Speaker.TOOL, ENDED, 2))
    assert verifier_of(cast.module).rejudge(task, again).reward == 1.0


def test_usergym_no_observation_holds_the_users_instruction(cast: Cast) -> None:
    for task in catalog.tasks("tau", "train"):
        for turn in cast.play(task, "oracle").turns:
            assert task.goal not in turn.text


def test_tau_bench_92_judging_adds_nothing_to_what_the_agent_did(cast: Cast) -> None:
    task = task_named("tau-shop-cancel-1")
    env = cast.env(task)
    env.start()
    for _ in range(2):
        verdict = env.verdict()
        assert (verdict.success, verdict.metrics["db"], verdict.metrics["db_changes"]) == (0, 0, 3)


def test_tau_bench_pr16_outputs_alone_earn_nothing(cast: Cast) -> None:
    task = task_named("tau-shop-cancel-1")
    (refund,) = read_case(task.payload["record"]).communicate
    episode = scripted(cast, task, f"[action] It is {refund}.", LEAVE)
    assert episode.metrics["outputs"] == episode.metrics["ended"] == 1.0
    assert episode.total_reward == 0.0


def test_a_hand_over_ends_a_dialogue_by_itself_and_a_refused_one_does_not(cast: Cast) -> None:
    task = task_named("tau-trip-cancel-insured-1")
    refused, done = act(
        cast, task, '[answer] {"name": "transfer_to_human_agents", "arguments": {}}', HAND_OVER
    )
    assert refused.events == ("tool_error",) and refused.stop is None
    assert done.events == ("transferred", "handed_over") and done.stop is StopReason.FAILED
    assert scripted(cast, task, *gold(task), HAND_OVER).stop is StopReason.SOLVED


@pytest.mark.parametrize(
    "text",
    [
        '[answer] {"name": "think", "arguments": {"thought": "Hm."}}',
        '<tool_call>{"name": "think", "arguments": {"thought": "Hm."}}</tool_call>',
        '[answer] <tool_call>{"name": "think", "arguments": {"thought": "Hm."}}</tool_call>',
        "<tool_call>"
        + json.dumps(
            {
                "name": "interact_with_env",
                "arguments": {
                    "choice": "answer",
                    "content": '{"name": "think", "arguments": {"thought": "Hm."}}',
                },
            }
        )
        + "</tool_call>",
    ],
)
def test_a_tool_is_called_by_an_answer_or_by_its_name(cast: Cast, text: str) -> None:
    action = reading.read(text)
    assert (action.choice, action.name) == (Choice.TOOL, "think")
    (result,) = act(cast, task_named("tau-shop-cancel-1"), text)
    assert (result.observation, result.events) == ("", ("looked_up",))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[answer] cancel it", "not JSON"),
        ('[answer] {"name": "cancel_pending_order"}', "a name and an object of arguments"),
        ('[answer] {"name": "no_such_tool", "arguments": {}}', "no tool named 'no_such_tool'"),
        (
            '[answer] {"name": "interact_with_env", "arguments": {"choice": "answer", "content": '
            '"x"}}',
            "an answer is a tool call",
        ),
        ('[answer] {"name": "get_item_details", "arguments": {"item_id": "1"}}', "no tool named"),
    ],
)
def test_an_answer_that_is_no_call_is_told_what_is_wrong(cast: Cast, text: str, why: str) -> None:
    (result,) = act(cast, task_named("tau-shop-cancel-1"), text)
    assert why in result.observation
    assert (result.events, result.reward, result.stop) == (("malformed",), 0.0, None)


def test_a_search_shows_the_tools_and_nothing_else(cast: Cast) -> None:
    task = task_named("tau-trip-bags-1")
    tools, more, other = act(cast, task, "[search] tools", "[search] Help", "[search] flights")
    listed = [json.loads(line) for line in tools.observation.splitlines()]
    assert {"name", "description", "parameters"} <= listed[0].keys() and len(listed) == 14
    assert more == tools and tools.events == ("tools_listed",)
    assert other.events == ("search_unclear",)


def test_before_the_start_nothing_can_be_looked_at(cast: Cast) -> None:
    with pytest.raises(RuntimeError):
        cast.env(task_named("tau-trip-bags-1")).act(Action(Choice.SEARCH, "tools"))


def test_no_number_of_refused_calls_within_the_turns_ends_a_dialogue(cast: Cast) -> None:
    task = task_named("tau-shop-cancel-1")
    lines = ['[answer] {"name": "get_order_details", "arguments": {"order_id": "#W0"}}'] * 13
    (refund,) = read_case(task.payload["record"]).communicate
    episode = scripted(cast, task, *lines, *gold(task), f"[action] It is {refund}.", LEAVE)
    assert episode.metrics["tool_errors"] == 13.0 and episode.total_reward == 1.0


def test_an_unknown_desk_and_an_unknown_style_are_refused(cast: Cast) -> None:
    task = task_named("tau-shop-cancel-1")
    payload: dict[str, Any] = {**task.payload, "domain": "bank"}
    with pytest.raises(ValueError, match="no desk named 'bank'; there are retail, airline"):
        cast.env(replace(task, payload=payload))
    with pytest.raises(ValueError, match="choose compact or full"):
        cast.env(task, style="loud")


def test_a_customer_who_leaves_ends_the_dialogue(cast: Cast) -> None:
    task = task_named("tau-shop-cancel-1")
    env = cast.env(task)
    env.start()
    env.act(Action(Choice.ACTION, "Bye?"))
    result = env.hear(Reply("Bye.", ends=True))
    assert (result.observation, result.stop) == (ENDED, StopReason.FAILED)
    assert "user_ended" in result.events
