"""A judge that says what it is told to, and answers of models written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainer.judges.prompt import code_of
from trainer.judges.seam import JudgeFailure
from trainer.question import Answer, Passage, Question
from trainer.users.spending import Spent

STORY = Question(
    asks="How much of each point does the story tell?",
    criteria=("The oven kept the pipes warm.", "The waterworks were being repaired."),
    material=(Passage("the story that the agent tells", "It was for the pipes."),),
    allowed=(0.0, 0.5, 1.0),
)
STATEMENT = Question(
    asks="Does each statement hold?",
    criteria=("The agent refused a refund.",),
    material=(Passage("the conversation", 'user: "Hello"'),),
)


def reply(question: Question, answers: Any, **more: Any) -> str:
    """Return the words of a model that answers in the form it was asked for."""
    return json.dumps({"question": code_of(question), "reasons": "so", "answers": answers} | more)


def best(question: Question) -> Answer:
    """Return the answer that grants everything."""
    return (question.allowed[-1],) * len(question.criteria)


@dataclass
class ScriptedJudge:
    """Answers each question by a function of it, and keeps what it was asked."""

    say: Callable[[Question], Answer | JudgeFailure] = best
    label: str = "scripted"
    asked: list[list[Question]] = field(default_factory=list)
    """The questions of each call."""
    each: Spent = Spent(requests=1, prompt_tokens=100, completion_tokens=10)
    """What every question costs."""
    spent: Spent = Spent()

    def answer(self, questions: Sequence[Question]) -> list[Answer | JudgeFailure]:
        """Answer by the script."""
        self.asked.append(list(questions))
        for _ in questions:
            self.spent = self.spent.plus(self.each)
        return [self.say(question) for question in questions]
