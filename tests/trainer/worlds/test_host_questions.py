"""A world's questions cross the seam as plain data, and only where a judge is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.worlds.stage import task
from trainer.episode import Speaker, StopReason, Turn
from trainer.message import Action, Choice
from trainer.question import Passage, Question, Questions
from trainer.worlds.answers import MAX_QUESTIONS, read_answer
from trainer.worlds.calls import Act, Answered, Fault, Judge, Rejudge, Result, Start
from trainer.worlds.host import WorldHost
from trainer.worlds.local import LocalHost
from trainer.worlds.seam import StepResult, Verdict

HOSTS = [WorldHost, LocalHost]
QUESTION = Question(
    "How much?", ("All of it.",), (Passage("the words", "naïve 🙂\n\u2028"),), (0, 0.5, 1)
)

ENV = """
from trainer.question import Passage, Question, Questions
from trainer.worlds.seam import Opening, StepResult, Verdict
from . import verifier

class Env:
    def start(self):
        return Opening("rules", "hello")
    def act(self, action):
        self.words = action.content
        return Questions((verifier.question(self.words),))
    def answered(self, answers):
        (value,) = answers[verifier.question(self.words).digest]
        return StepResult("told", reward=value)
    def verdict(self):
        return Verdict(0.5, 0.0)

def make(task, *, settings, seed):
    return Env()
"""
VERIFIER = """
from trainer.question import Passage, Question, Questions, unanswered
from trainer.worlds.seam import Verdict

def question(words):
    return Question("How much?", ("All of it.",), (Passage("the words", words),), (0, 0.5, 1))

def rejudge(task, turns, settings, answers=None):
    asked = [question(turn.text) for turn in turns]
    missing = unanswered(asked, answers or {})
    if missing is not None:
        return missing
    return Verdict(min(answers[one.digest][0] for one in asked), 0.0)
"""
WORDS = "naïve 🙂\n\u2028"


def world(folder: Path) -> Path:
    (folder / "env.py").write_text(ENV)
    (folder / "verifier.py").write_text(VERIFIER)
    return folder


def calls(host: Any, *asked: Any, judge: bool = True) -> list[Result]:
    host.open("e", task("w"), settings={"judge": True} if judge else {}, seed=1)
    return [host.call({"e": one}, deadline_s=30.0)["e"] for one in asked]


@pytest.mark.parametrize("kind", HOSTS)
def test_a_question_crosses_unchanged_and_its_answer_goes_back_by_its_digest(
    kind: type, tmp_path: Path
) -> None:
    with kind({"w": world(tmp_path)}) as host:
        _, asked, told, verdict = calls(
            host,
            Start(),
            Act(Action(Choice.ANSWER, WORDS)),
            Answered({QUESTION.digest: (0.5,)}),
            Judge(),
        )
    assert asked == Questions((QUESTION,))
    assert told == StepResult("told", reward=0.5)
    assert verdict == Verdict(0.5, 0.0)


@pytest.mark.parametrize("kind", HOSTS)
def test_a_verifier_asks_about_a_record_and_takes_what_is_known(kind: type, tmp_path: Path) -> None:
    turns = (Turn(Speaker.AGENT, WORDS, 0), Turn(Speaker.AGENT, "other", 1))
    with kind({"w": world(tmp_path)}) as host:
        first, second, verdict = calls(
            host,
            Rejudge(turns),
            Rejudge(turns, {QUESTION.digest: (1.0,)}),
            Rejudge(turns, {QUESTION.digest: (1.0,), other().digest: (0.5,)}),
        )
    assert isinstance(first, Questions) and len(first.asked) == 2
    assert second == Questions((other(),))
    assert verdict == Verdict(0.5, 0.0)


def other() -> Question:
    return Question("How much?", ("All of it.",), (Passage("the words", "other"),), (0, 0.5, 1))


@pytest.mark.parametrize("kind", HOSTS)
def test_where_no_judge_is_a_world_that_asks_is_at_fault(kind: type, tmp_path: Path) -> None:
    with kind({"w": world(tmp_path)}) as host:
        _, asked = calls(host, Start(), Act(Action(Choice.ANSWER, WORDS)), judge=False)
    assert isinstance(asked, Fault)
    assert asked.stop is StopReason.WORLD_INVALID
    assert "asks a judge where none is" in asked.detail


GOOD: dict[str, Any] = {
    "asks": "?",
    "criteria": ["a"],
    "material": [{"name": "p", "text": "t"}],
    "allowed": [0.0, 1.0],
}


def read(*questions: Any) -> Result:
    return read_answer("act", json.dumps({"ok": {"asked": questions}}).encode(), may_ask=True)


def test_a_good_question_is_read() -> None:
    assert read(GOOD) == Questions((Question("?", ("a",), (Passage("p", "t"),)),))


@pytest.mark.parametrize(
    "bad",
    [
        {"asks": 1},
        {"criteria": []},
        {"criteria": "a"},
        {"criteria": ["a"] * 99},
        {"criteria": ["\ud800"]},
        {"material": [{"name": "p"}]},
        {"material": [{"name": "", "text": "t"}]},
        {"material": [{"name": "p", "text": "t", "role": "system"}]},
        {"allowed": [0.0]},
        {"allowed": [1.0, 0.0]},
        {"allowed": [0.0, 2.0]},
        {"allowed": [True, "1"]},
        {"more": 1},
    ],
    ids=str,
)
def test_a_question_of_another_shape_is_a_fault_and_never_asked(bad: dict[str, Any]) -> None:
    found = read({**GOOD, **bad})
    assert isinstance(found, Fault)
    assert found.stop is StopReason.WORLD_INVALID


def test_no_questions_and_too_many_are_a_fault() -> None:
    assert isinstance(read(), Fault)
    assert isinstance(read(*[GOOD] * (MAX_QUESTIONS + 1)), Fault)


def test_a_flood_is_a_flood() -> None:
    found = read({**GOOD, "material": [{"name": "p", "text": "x" * 200_001}]})
    assert isinstance(found, Fault) and found.stop is StopReason.WORLD_FLOODED
