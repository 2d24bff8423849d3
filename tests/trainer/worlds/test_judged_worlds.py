"""Worlds that ask a judge do so where one is there, and a record comes to what was lived."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.conformance import env_suite
from trainer.episode import Speaker, StopReason, Turn
from trainer.message import Action, Choice, Reply, read_action
from trainer.question import Answer, Question, Questions
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.seam import StepResult, Verdict
from trainer.worlds.tau2_retail import env as retail
from trainer.worlds.tau2_retail import verifier as retail_verifier
from trainer.worlds.turtle import env as turtle
from trainer.worlds.turtle import verifier as turtle_verifier

JUDGED = {"judge": True, "max_steps": 16}
STATEMENTS = ["The agent greets the user.", "The agent refuses nothing."]


@pytest.fixture(scope="module")
def riddle() -> Task:
    return catalog.tasks("turtle", "train")[0]


def story(*moves: str, answers: dict[str, Answer] | None = None) -> list[Any]:
    """What a judged riddle says to moves; questions are answered from what is given."""
    env = turtle.make(catalog.tasks("turtle", "train")[0], settings=JUDGED, seed=0)
    env.start()
    told: list[Any] = []
    for move in moves:
        told.append(env.act(read_action(move)))
        if isinstance(told[-1], Questions) and answers is not None:
            told.append(env.answered(answers))
    return [*told, env.verdict()]


def test_a_story_is_asked_about_with_all_its_criteria_and_nothing_is_paid_before(
    riddle: Task,
) -> None:
    asked, verdict = story("[answer] The oven kept the pipes warm.")
    (question,) = asked.asked
    assert question.criteria == tuple(one["statement"] for one in riddle.payload["criteria"])
    assert question.allowed == (0.0, 0.5, 1.0)
    assert [one.text for one in question.material] == [
        riddle.opening,
        "The oven kept the pipes warm.",
    ]
    assert (verdict.success, verdict.metrics["answers"]) == (0.0, 0.0)


def test_what_a_judge_says_is_paid_by_the_weights_and_ends_a_whole_story() -> None:
    (first, _) = story("[answer] one")
    (second, _) = story("[answer] two")
    answers = {
        first.asked[0].digest: (1.0, 0.5, 0.0),
        second.asked[0].digest: (1.0, 1.0, 1.0),
    }
    _, part, _, whole, verdict = story("[answer] one", "[answer] two", answers=answers)
    # Weights 40, 30 and 30: 40 + 15 = 55 of 100, then the rest.
    assert (part.reward, part.stop) == (pytest.approx(0.55), None)
    assert (whole.reward, whole.stop) == (pytest.approx(0.45), StopReason.SOLVED)
    assert (verdict.success, verdict.metrics["sum"]) == (1.0, 1.0)


def test_a_judge_is_not_asked_about_a_question_nor_about_no_words() -> None:
    said, empty, _ = story("[action] Is it about water?", "[answer]  ")
    assert isinstance(said, StepResult) and isinstance(empty, StepResult)
    assert empty.reward == 0.0


def test_without_a_judge_the_rules_decide_and_nothing_is_asked(riddle: Task) -> None:
    cast = env_suite.cast("turtle")
    episode = cast.play(riddle, "oracle")
    assert episode.success == 1.0
    found = turtle_verifier.rejudge(riddle, episode.turns, cast.declaration.settings)
    assert isinstance(found, Verdict)


def test_a_recorded_riddle_asks_what_the_lived_one_asked_and_comes_to_the_same(
    riddle: Task,
) -> None:
    turns = [Turn(Speaker.AGENT, f"[answer] {word}", n) for n, word in enumerate(("one", "two"))]
    missing = turtle_verifier.rejudge(riddle, turns, JUDGED)
    assert isinstance(missing, Questions)
    answers = dict(
        zip([one.digest for one in missing.asked], [(1.0, 0.5, 0.0), (0.0, 0.5, 0.5)], strict=True)
    )
    lived = story("[answer] one", "[answer] two", answers=answers)[-1]
    assert turtle_verifier.rejudge(riddle, turns, JUDGED, answers) == lived
    partly = turtle_verifier.rejudge(riddle, turns, JUDGED, {missing.asked[0].digest: (1, 1, 1)})
    assert isinstance(partly, Questions) and len(partly.asked) == 1


def test_the_word_of_a_judge_that_is_missing_is_a_fault_of_the_caller(riddle: Task) -> None:
    env = turtle.make(riddle, settings=JUDGED, seed=0)
    env.start()
    env.act(read_action("[answer] one"))
    with pytest.raises(ValueError, match="missing"):
        env.answered({"0" * 32: (1.0, 1.0, 1.0)})


@pytest.fixture(scope="module")
def order() -> Task:
    """A task of the shop whose basis holds statements that only a judge can decide."""
    task = catalog.tasks("tau2_retail", "train")[0]
    record = dict(task.payload["record"])
    criteria = {**record["evaluation_criteria"], "nl_assertions": STATEMENTS}
    criteria["reward_basis"] = ["DB", "NL_ASSERTION"]
    record["evaluation_criteria"] = criteria
    return replace(task, payload={**task.payload, "record": record})


def shop(order: Task, *, judged: bool = True) -> tuple[Any, list[Turn], Any]:
    """The gold actions done, then the user leaves: the world, the record, the last result."""
    env = retail.make(order, settings=JUDGED if judged else {"max_steps": 50}, seed=0)
    opening = env.start()
    turns = [Turn(Speaker.SYSTEM, opening.system, 0), Turn(Speaker.USER, opening.user, 0)]
    last: Any = None
    for number, gold in enumerate(order.payload["record"]["evaluation_criteria"]["actions"]):
        call = {"name": gold["name"], "arguments": gold["arguments"]}
        text = f"<tool_call>{json.dumps(call)}</tool_call>"
        last = env.act(read_action(text))
        turns += [Turn(Speaker.AGENT, text, number), Turn(Speaker.TOOL, last.observation, number)]
    number = len(turns)
    last = env.act(Action(Choice.ACTION, "Done.\nuser: thank you"))
    turns.append(Turn(Speaker.AGENT, "[action] Done.\nuser: thank you", number))
    last = env.hear(Reply("Thanks.", ends=True))
    turns.append(Turn(Speaker.USER, "Thanks.", number))
    if isinstance(last, StepResult) and last.observation:
        turns.append(Turn(Speaker.TOOL, last.observation, number))
    return env, turns, last


def question_of(asked: Any) -> Question:
    assert isinstance(asked, Questions), asked
    (question,) = asked.asked
    return question


def test_a_dialogue_at_the_shop_is_put_to_a_judge_at_its_end(order: Task) -> None:
    _, _, asked = shop(order)
    question = question_of(asked)
    assert question.criteria == tuple(STATEMENTS)
    lines = question.material[0].text.split("\n")
    assert lines[0].startswith('user: "')
    assert lines[-2:] == ['agent: "Done.\\nuser: thank you"', 'user: "Thanks."']
    assert any(line.startswith("agent calls: ") for line in lines)
    assert any(line.startswith("tool: ") for line in lines)


@pytest.mark.parametrize(("said", "worth"), [((1.0, 1.0), 1.0), ((1.0, 0.0), 0.0)])
def test_every_statement_must_hold(order: Task, said: Answer, worth: float) -> None:
    env, turns, asked = shop(order)
    answers = {question_of(asked).digest: said}
    ended = env.answered(answers)
    assert ended.stop is (StopReason.SOLVED if worth else StopReason.FAILED)
    verdict = env.verdict()
    assert (verdict.success, verdict.metrics["pass"]) == (worth, worth)
    assert verdict.metrics["nl_met"] == sum(said) / 2
    assert verdict.metrics["nl_unjudged"] == 0.0
    turns.append(Turn(Speaker.TOOL, ended.observation, len(turns)))
    assert retail_verifier.rejudge(order, turns, JUDGED, answers) == verdict
    again = retail_verifier.rejudge(order, turns, JUDGED)
    assert question_of(again) == question_of(asked)


def test_without_a_judge_the_number_keeps_its_other_name(order: Task) -> None:
    env, turns, ended = shop(order, judged=False)
    assert isinstance(ended, StepResult)
    verdict = env.verdict()
    assert "pass" not in verdict.metrics and "nl_met" not in verdict.metrics
    assert verdict.metrics["nl_unjudged"] == 2.0
    assert retail_verifier.rejudge(order, turns) == verdict


def test_a_judge_is_not_asked_where_its_word_cannot_matter(order: Task) -> None:
    env = retail.make(order, settings=JUDGED, seed=0)
    env.start()
    env.act(Action(Choice.ACTION, "Hello."))
    ended = env.hear(Reply("Bye.", ends=True))
    assert isinstance(ended, StepResult), "the databases differ already"
    verdict = env.verdict()
    assert isinstance(verdict, Verdict)
    assert (verdict.success, "nl_met" in verdict.metrics) == (0.0, False)


def test_an_empty_list_of_statements_passes_as_in_the_benchmark(order: Task) -> None:
    record = dict(order.payload["record"])
    record["evaluation_criteria"] = {**record["evaluation_criteria"], "nl_assertions": []}
    env, _, ended = shop(replace(order, payload={**order.payload, "record": record}))
    assert isinstance(ended, StepResult) and ended.stop is StopReason.SOLVED
    assert env.verdict().metrics["pass"] == 1.0


def test_tasks_without_statements_are_judged_by_rules_under_both_names() -> None:
    task = catalog.tasks("tau2_retail", "train")[0]
    env, turns, ended = shop(task)
    assert isinstance(ended, StepResult)
    verdict = env.verdict()
    assert verdict.metrics["pass"] == verdict.metrics["pass_no_nl"] == verdict.success
    assert retail_verifier.rejudge(task, turns, JUDGED) == verdict


@pytest.mark.parametrize("world", sorted(catalog.judged(catalog.WORLDS)))
def test_what_only_a_judged_dialogue_has_is_declared_apart(world: str) -> None:
    declared = env_suite.cast(world).declaration
    assert declared.judge is not None and declared.judge.asks
    assert not declared.judge.metrics.keys() & declared.metrics.keys()
