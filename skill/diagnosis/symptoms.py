"""Symptoms: what a detector found, with whom, by which records, and where to look next.

A symptom is a suspicion with evidence. It names no cause of a change and recommends no value;
only the gate's verdicts say what a change did.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from skill import fence

_STEP = re.compile(r"^(?:steps|events)\.jsonl#(\d+)$")
_EPISODE = re.compile(r"#(\d{6}-\d{2,5})(?:@\d+)?$")

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


class Cited(NamedTuple):
    """Records of a run, as the evidence of a proposal."""

    steps: tuple[int, ...]
    episodes: tuple[str, ...]


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

    @property
    def cited(self) -> Cited:
        """The evidence as a proposal names it: numbers of steps, ids of episodes."""
        steps = [int(step) for entry in self.evidence for step in _STEP.findall(entry)]
        episodes = [name for entry in self.evidence for name in _EPISODE.findall(entry)]
        return Cited(tuple(dict.fromkeys(steps)), tuple(dict.fromkeys(episodes)))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; names are safe to print, the quote is marked as data."""
        return {
            "name": self.name,
            "party": self.party.value,
            "sentence": self.sentence,
            "evidence": [fence.name(entry) for entry in self.evidence[:MOST_EVIDENCE]],
            "proposal_evidence": self.cited._asdict(),
            "look_next": self.look_next,
            "quote": None if self.quote is None else fence.untrusted(self.quote, limit=300),
        }
