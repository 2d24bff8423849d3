"""A session: what one dialogue has come to so far, move by move.

The desk keeps one while a dialogue is lived, and the verifier makes one again from recorded turns;
both go through the same few moves, so a record and the life it records cannot disagree. What is
shown to whom is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trainer.task import Task
from trainer.worlds.disclosure import refuse_unknown
from trainer.worlds.tau2.case import NamedCall, Side, read_case
from trainer.worlds.tau2.office import TRANSFER, Bases, Domain, Outcome, open_office
from trainer.worlds.tau2.scoring import Scorecard, score


class Session:
    """One dialogue's state."""

    def __init__(self, domain: Domain, task: Task, bases: Bases) -> None:
        """Open the office as the task's case wants it.

        Raises:
            ValueError: if the case names a function that the domain does not have.
        """
        self.domain = domain
        self.task = task
        self.case = read_case(task.payload["record"])
        self.office = open_office(domain, self.case, bases)
        self.said: list[str] = []
        """The agent's messages to the user."""
        self.learnt: frozenset[str] = frozenset()
        """Ids of the facts that the user disclosed."""
        self.transferred = False
        self.ended = False
        self.num_refused = 0
        """Calls of the agent's that a tool refused."""
        self._asked = ""
        self._bases = bases

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Carry out a tool call of the agent's."""
        outcome = self.office.call(NamedCall(Side.AGENT, name, arguments))
        self.num_refused += not outcome.ok
        self.transferred = self.transferred or (outcome.ok and name == TRANSFER)
        self.ended = self.ended or (self.transferred and self.domain.hand_over_ends)
        return outcome

    def say(self, words: str) -> None:
        """Note what the agent says to the user; one who was handed over leaves at that."""
        self.said.append(words)
        self._asked = words
        self.ended = self.ended or self.transferred

    def disclose(self, fact_ids: Iterable[str]) -> list[Outcome]:
        """Note facts that the user tells, and carry out the user's own calls that go with them.

        Returns:
            What became of the calls: those of `payload["user_calls"]` by fact id, each time that
            the fact is told for the first time.

        Raises:
            ValueError: if the task has no such fact.
        """
        told = dict.fromkeys(fact_ids)
        refuse_unknown(self.task, told)
        new = [fact_id for fact_id in told if fact_id not in self.learnt]
        self.learnt |= set(new)
        calls = self.task.payload.get("user_calls") or {}
        return [
            self.office.call(NamedCall(Side.USER, call["name"], call.get("arguments") or {}))
            for fact_id in new
            for call in calls.get(fact_id, ())
        ]

    def heed(self) -> list[Outcome]:
        """Carry out what the agent's newest words ask of the user's own tools, once.

        A user answers first and acts then, so this follows the reply.
        """
        words, self._asked = self._asked, ""
        if self.domain.heeds is None or not words:
            return []
        calls = self.domain.heeds(self.office, words)
        return [self.office.call(call) for call in calls]

    def end(self) -> None:
        """Note that the user has ended the dialogue."""
        self.ended = True

    def score(self, *, nl_met: bool | None = None) -> Scorecard:
        """Judge the state as it is.

        Args:
            nl_met: A judge's word on the statements in natural language; None without a judge.
        """
        return score(
            self.domain,
            self.case,
            self._bases,
            self.office,
            self.said,
            ended=self.ended,
            nl_met=nl_met,
        )
