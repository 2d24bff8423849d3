"""Dialogues as a diagnosis sees them: an episode's record, safe to ask whatever it lacks.

A record may come from an older trainer, from another world or from a damaged line, so nothing is
taken for granted: a missing field is None or empty. What a dialogue is worth is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

UNPRODUCTIVE = (
    "repeated",
    "unclear",
    "failed",
    "off_topic",
    "malformed",
    "wrong",
    "finished",
    "no_better",
    "offended",
    "undefined",
    "refused",
    "unreadable",
    "none",
)
"""Words in the name of an event of a world that mean a turn gained nothing."""

LIMITS = frozenset({"out_of_steps", "out_of_tokens"})
"""Stop reasons by which a limit cut the dialogue."""

_ANSWER = re.compile(r"\s*\[\s*answer\s*\]", re.IGNORECASE)


@dataclass(frozen=True)
class Dialogue:
    """One episode's record, and what follows from it."""

    record: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Step and index in the batch, such as `000012-05`."""
        return self._text("id") or "unknown"

    @property
    def step(self) -> int:
        """The training step, 0 where the record does not say."""
        step = self.record.get("step")
        return step if isinstance(step, int) else 0

    @property
    def task(self) -> str:
        """The task that was played."""
        return self._text("task_id")

    @property
    def world(self) -> str:
        """The world it was played in."""
        return self._text("world")

    @property
    def stop(self) -> str:
        """Why it ended; empty where no reason was recorded."""
        return self._text("stop")

    @property
    def outcome(self) -> str:
        """What became of it: finished, quarantined or dropped."""
        return self._text("outcome") or "finished"

    @property
    def success(self) -> float | None:
        """The verifier's verdict."""
        return _number(self.record.get("success"))

    @property
    def solved(self) -> bool:
        """True for full success."""
        return self.success is not None and self.success >= 1.0

    @property
    def failed(self) -> bool:
        """True for an episode that should have been a success, whoever is to blame."""
        return not self.solved

    @property
    def action_tokens(self) -> float | None:
        """Tokens that the policy wrote."""
        return _number(self.record.get("num_action_tokens"))

    @cached_property
    def turns(self) -> tuple[Mapping[str, Any], ...]:
        """Every turn, in order."""
        turns = self.record.get("turns")
        return (
            tuple(turn for turn in turns if isinstance(turn, dict))
            if isinstance(turns, list)
            else ()
        )

    def spoken_by(self, speaker: str) -> list[int]:
        """Return the positions of a speaker's turns; a user's opening words are no reply."""
        return [
            index
            for index, turn in enumerate(self.turns)
            if turn.get("speaker") == speaker and (speaker != "user" or "voice" in turn)
        ]

    def text(self, index: int) -> str:
        """Return what was said in a turn."""
        text = self.turns[index].get("text")
        return text if isinstance(text, str) else ""

    def events(self, index: int) -> tuple[str, ...]:
        """Return the world's events of a turn."""
        return _texts(self.turns[index].get("events"))

    def revealed(self, index: int) -> tuple[str, ...]:
        """Return the facts that a turn disclosed."""
        return _texts(self.turns[index].get("revealed"))

    def private(self, index: int) -> Mapping[str, Any]:
        """Return what is known of a user's turn and was never shown to the agent."""
        private = self.turns[index].get("private")
        return private if isinstance(private, dict) else {}

    @cached_property
    def progress(self) -> tuple[int, ...]:
        """Positions of the turns that gained something: a new fact, or a productive event.

        A move that was made before gains nothing, whatever the world calls it.
        """
        known: set[str] = set()
        moves: set[str] = set()
        found: list[int] = []
        fresh = True
        for index, turn in enumerate(self.turns):
            if turn.get("speaker") == "agent":
                move = _words(self.text(index))
                fresh = move not in moves
                moves.add(move)
            new = set(self.revealed(index)) - known
            known |= new
            if new or (fresh and any(_productive(event) for event in self.events(index))):
                found.append(index)
        return tuple(found)

    @cached_property
    def committed(self) -> tuple[str, ...]:
        """The agent's answer messages, in lower case and single blanks; often there are none."""
        said = (_words(self.text(index)) for index in self.spoken_by("agent"))
        return tuple(text for text in said if _ANSWER.match(text))

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """What was judged: the answer messages, else all that agent and user said."""
        if self.committed:
            return self.committed
        heard = (*self.spoken_by("agent"), *self.spoken_by("user"))
        return tuple(_words(self.text(index)) for index in heard)

    def paid(self, *rules: str, other: bool = False) -> float:
        """Return what some rules paid in all; with `other`, what all other rules paid."""
        payments = self.record.get("rewards")
        total = 0.0
        for payment in payments if isinstance(payments, list) else ():
            if isinstance(payment, dict) and (payment.get("rule") in rules) is not other:
                total += _number(payment.get("value")) or 0.0
        return total

    def cite(self, index: int | None = None) -> str:
        """Return how evidence names this episode, or one turn of it by position."""
        place = f"episodes/{self.step:06d}.jsonl#{self.id}"
        return place if index is None else f"{place}@{index}"

    def _text(self, key: str) -> str:
        value = self.record.get(key)
        return value if isinstance(value, str) else ""


def _productive(event: str) -> bool:
    return not any(word in event for word in UNPRODUCTIVE)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = float(value)
    return number if number - number == 0.0 else None


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(entry) for entry in value) if isinstance(value, list) else ()


def _words(text: str) -> str:
    return " ".join(text.lower().split())
