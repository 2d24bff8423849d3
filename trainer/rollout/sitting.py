"""A sitting: the judge of one rollout, who is asked nothing twice.

Each question is answered by what is on file for its episode, else by what was said of the same
words earlier in the rollout, else by the judge; all that is left goes out together. Failures are
not remembered. This module knows nothing about worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from trainer.judges.seam import Judge, JudgeFailure
from trainer.question import Answer, Answers, Question
from trainer.users.spending import Spent

ABSENT = JudgeFailure("there is no judge; set judge.kind to endpoint and name one")


class Judging(NamedTuple):
    """What a rollout asked of its judge."""

    asked: int = 0
    """Questions that went out."""
    repeated: int = 0
    """Questions that were answered by what had been said before, or is on file."""
    failed: int = 0
    """Questions that went out and have no answer."""
    pinned: int = 0
    """Questions, among those that went out, which only revision 0's verifier asked."""
    seconds: float = 0.0
    spent: Spent = Spent()
    """What all ranks asked of the service."""
    elsewhere: Spent = Spent()
    """The part of it that other processes than this one asked."""

    def plus(self, other: Judging) -> Judging:
        """Return this with the part of another process, at the same time as this one's."""
        return Judging(
            self.asked + other.asked,
            self.repeated + other.repeated,
            self.failed + other.failed,
            self.pinned + other.pinned,
            max(self.seconds, other.seconds),
            self.spent.plus(other.spent),
            self.elsewhere.plus(other.spent),
        )


class Asked(NamedTuple):
    """One question of one episode."""

    question: Question
    on_file: Answers
    """What a judge said of that episode when it was played before."""


@dataclass
class Sitting:
    """The judge during one rollout; several threads may ask at once."""

    judge: Judge | None
    clock: Callable[[], float]
    """Monotonic seconds."""
    _said: dict[str, Answer] = field(default_factory=dict)
    _count: Judging = Judging()
    _before: Spent = Spent()
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._before = self._spent

    @property
    def label(self) -> str:
        """Who judges."""
        return self.judge.label if self.judge else ""

    @property
    def judging(self) -> Judging:
        """What was asked so far."""
        return self._count._replace(spent=self._spent.minus(self._before))

    def answer(
        self, asked: Sequence[Asked], *, pinned: bool = False
    ) -> dict[str, Answer | JudgeFailure]:
        """Return the answer to each question by its digest.

        Args:
            asked: The questions of one or many episodes.
            pinned: Whether revision 0's verifier asks about what was played elsewhere.
        """
        with self._lock:
            for question, on_file in asked:
                said = on_file.get(question.digest)
                if said is not None and question.accepts(said):
                    self._said.setdefault(question.digest, said)
            new = {one.digest: one for one, _ in asked if one.digest not in self._said}
        began = self.clock()
        # Whoever asks the same words meanwhile asks twice; nobody waits for another's answer.
        told = self.judge.answer(list(new.values())) if self.judge and new else [ABSENT] * len(new)
        found = dict(zip(new, told, strict=True))
        failed = sum(isinstance(one, JudgeFailure) for one in told)
        with self._lock:
            for digest, one in found.items():
                if not isinstance(one, JudgeFailure):
                    self._said.setdefault(digest, one)
            self._count = self._count._replace(
                asked=self._count.asked + len(new),
                repeated=self._count.repeated + len(asked) - len(new),
                failed=self._count.failed + failed,
                pinned=self._count.pinned + (len(new) if pinned else 0),
                seconds=round(self._count.seconds + self.clock() - began, 4),
            )
            return {one.digest: self._said.get(one.digest) or found[one.digest] for one, _ in asked}

    @property
    def _spent(self) -> Spent:
        return self.judge.spent if self.judge else Spent()
