"""Symptoms: what a detector found, with whom, by which records, and where to look next.

A symptom is a suspicion with evidence. It names no cause of a change and recommends no value;
only the gate's verdicts say what a change did.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from skill import fence

MOST_EVIDENCE = 6
"""Records that a symptom cites."""


class Party(StrEnum):
    """On whom a failure is put."""

    POLICY = "policy"
    USER = "user"
    ENVIRONMENT = "environment"
    VERIFIER = "verifier"
    CONFIGURATION = "configuration"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True)
class Symptom:
    """One thing that is probably wrong."""

    name: str
    """Stable, such as `deadlock`; the row of the skill's table of symptoms."""
    party: Party
    sentence: str
    """What was seen, in numbers; holds no words of a dialogue."""
    evidence: tuple[str, ...]
    """Records: `steps.jsonl#STEP`, `events.jsonl#STEP`, `episodes/STEP.jsonl#ID@TURN`."""
    look_next: str
    """What to look at before anything is changed."""
    quote: str | None = None
    """Words of a dialogue that show it: data, to be fenced wherever they are printed."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; names are safe to print, the quote is marked as data."""
        return {
            "name": self.name,
            "party": self.party.value,
            "sentence": self.sentence,
            "evidence": [fence.name(entry) for entry in self.evidence[:MOST_EVIDENCE]],
            "look_next": self.look_next,
            "quote": None if self.quote is None else fence.untrusted(self.quote, limit=300),
        }
