"""Callers: what the user of a real telecom record knows, as facts.

The benchmark's records say it in a few fixed sentences, so each becomes the fact that it is. A
record with none of them is read as any domain's prose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from trainer.task import Fact
from trainer.worlds.tau2.scenario import Scenario, first_person, scenario


class _Sentence(NamedTuple):
    kind: str
    pattern: str
    statement: str
    """With the pattern's groups."""
    cues: tuple[str, ...]


_SENTENCES = (
    _Sentence(
        "identity",
        r"You are (?P<name>[^.]+?) with phone number (?P<number>[\d-]+)",
        "I am {name}, my phone number is {number}.",
        ("your name", "phone number", "who are you", "identify the customer"),
    ),
    _Sentence(
        "location",
        r"You are currently (?P<place>[^.]+)\.",
        "I am currently {place}.",
        ("where are you", "abroad", "travelling", "location", "which country"),
    ),
    _Sentence(
        "refuel",
        r"willing to refuel (?P<amount>[\d.]+) GB",
        "I am willing to refuel {amount} GB of data, but I do not want to change my plan.",
        ("how much data", "refuel", "more data", "change plan"),
    ),
    _Sentence(
        "payment",
        r"If the agent asks you to pay a bill, you accept",
        "Yes, I will pay the bill.",
        ("willing to pay", "overdue bill", "accept the charge"),
    ),
    _Sentence(
        "wish",
        r"only when speed test returns (?P<grade>\w+) internet speed",
        "I only count it as solved when the speed test is {grade}.",
        ("what do you expect", "when is it solved", "satisfied"),
    ),
)
_SLIP = re.compile(r"^You (?=mobile\b)")
"""The records write "You mobile data" where they mean "Your"."""


def caller(record: Mapping[str, Any]) -> Scenario:
    """Return what the user of a real telecom record knows and wants."""
    plain = scenario(record)
    instructions = (record.get("user_scenario") or {}).get("instructions")
    if not isinstance(instructions, Mapping):
        return plain
    told = f"{instructions.get('known_info') or ''} {instructions.get('task_instructions') or ''}"
    facts = []
    for sentence in _SENTENCES:
        match = re.search(sentence.pattern, told)
        if match is not None:
            statement = sentence.statement.format(**match.groupdict())
            text = f"what the caller knows of {sentence.kind}: {statement}"
            facts.append(Fact(f"F{len(facts) + 1}", sentence.kind, text, statement, sentence.cues))
    reason = _SLIP.sub("Your ", instructions.get("reason_for_call") or "")
    if not facts or not reason:
        return plain
    return Scenario(plain.goal, first_person(reason), tuple(facts))
