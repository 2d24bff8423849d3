"""The seam between the trainer and a judge: questions in, one checked answer each out.

An answer has the form that its question declares, or it is a failure: never a default, never a
zero. What becomes of either is not known here (`trainer.rollout.sitting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from trainer.question import Answer, Question
from trainer.users.spending import Spent


@dataclass(frozen=True)
class JudgeFailure:
    """A judge's word that a question has no answer, after its retries."""

    reason: str
    """What failed and what to look at, in one sentence without secrets and without material."""


class Judge(Protocol):
    """Anything that answers the questions of worlds."""

    @property
    def label(self) -> str:
        """What records call it: who it is, and never where it is served."""
        ...

    @property
    def spent(self) -> Spent:
        """What it was asked, and what that cost, in all."""
        ...

    def answer(self, questions: Sequence[Question]) -> list[Answer | JudgeFailure]:
        """Return one answer for each question, in order; the same question has the same answer.

        A fault of the judge or of the way to it is a `JudgeFailure`, never an exception.

        Args:
            questions: All that is to be decided now; asked together.
        """
        ...
