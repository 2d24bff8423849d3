"""A judge that is a chat model: asked coldly, read strictly, and asked again within a deadline.

Temperature 0 and a seed made from the question: what can be repeated is. An answer in another form
is complained about and asked for again, as often as the settings say and not after the deadline;
then the question has no answer. Where the model is served is not known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trainer.judges.prompt import build_chat
from trainer.judges.reading import Unreadable, read_answer
from trainer.judges.seam import JudgeFailure
from trainer.question import Answer, Question
from trainer.users.chat import ChatFailure, ChatModel
from trainer.users.spending import Meter, Spent

MAX_TOKENS = 1024


@dataclass(frozen=True)
class ModelJudge:
    """Answers questions by asking a chat model; implements `trainer.judges.seam.Judge`."""

    model: ChatModel
    name: str
    """The model's name, for records."""
    meter: Meter
    """Counts what the model is asked."""
    max_tokens: int = MAX_TOKENS
    """Tokens of one answer, its reasons included."""
    retries: int = 2
    """How often a question is asked again whose answer cannot be read."""
    deadline_s: float = 60.0
    """After so many seconds nothing is asked again."""
    clock: Callable[[], float] = time.monotonic

    @property
    def label(self) -> str:
        """See `Judge.label`."""
        return f"endpoint {self.name}"

    @property
    def spent(self) -> Spent:
        """See `Judge.spent`."""
        return self.meter.total

    def answer(self, questions: Sequence[Question]) -> list[Answer | JudgeFailure]:
        """Ask all questions at once, and those again whose answers are none."""
        until = self.clock() + self.deadline_s
        found: dict[int, Answer | JudgeFailure] = {}
        complaints = dict.fromkeys(range(len(questions)), "")
        for attempt in range(self.retries + 1):
            answers = self._ask([(questions[i], told) for i, told in complaints.items()], attempt)
            left: dict[int, str] = {}
            for index, one in zip(complaints, answers, strict=True):
                if isinstance(one, Unreadable):
                    left[index] = one.reason
                else:
                    found[index] = one
            complaints = left
            if not complaints or self.clock() >= until:
                break
        for index, reason in complaints.items():
            found[index] = JudgeFailure(
                f"the judge {self.name} gave no usable answer: it {reason}; see whether the model "
                "can judge, or raise judge.endpoint.retries or max_tokens"
            )
        return [found[index] for index in range(len(questions))]

    def _ask(
        self, asked: Sequence[tuple[Question, str]], attempt: int
    ) -> list[Answer | JudgeFailure | Unreadable]:
        texts = self.model.complete(
            [build_chat(question, complaint) for question, complaint in asked],
            temperature=0.0,
            max_tokens=self.max_tokens,
            seeds=[int(question.digest[:15], 16) + attempt for question, _ in asked],
        )
        return [
            # The model has retries of its own for what fails on the way to it.
            JudgeFailure(text.reason)
            if isinstance(text, ChatFailure)
            else read_answer(text, question)
            for (question, _), text in zip(asked, texts, strict=True)
        ]
