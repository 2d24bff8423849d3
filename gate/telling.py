"""What the gate's commands print: findings, changes and the ledger's lines, for people.

Programs read `--json` instead. Nothing here decides or reads anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from gate.contract import knobs
from gate.contract.experiments import Experiment
from gate.contract.findings import Finding
from gate.contract.ledger import Entry, EntryKind
from gate.effects.verdicts import Judgement

STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "refused": "bold red",
    "passed": "bold green",
    "committed": "bold green",
    "launch": "bold",
    "abandoned": "bold yellow",
    "opened": "bold magenta",
    "outcome": "bold magenta",
}
"""How a line's first word looks on a terminal that has colours."""

LONGEST_REASON = 200
"""Characters of a reason that a line repeats."""


def say(word: str, rest: str = "", *, before: str = "") -> None:
    """Print one line in which one word stands out.

    Values come from files that anybody may write: they are text, whatever markup they hold.
    """
    text = Text.assemble(before, (word, STYLES.get(word, "")), visible(rest))
    Console().print(text, soft_wrap=True, highlight=False)


def findings(found: Iterable[Finding]) -> None:
    """Print findings, one a line."""
    for finding in found:
        say(str(finding.severity), f": {finding}")


def changes(found: Iterable[knobs.KnobChange], *, before: str = "") -> None:
    """Print what moves, one knob a line."""
    for change in found:
        say("", f"{before}{change.path}: {change.old} -> {change.new}")


def tests(found: Iterable[tuple[Experiment, Judgement]]) -> None:
    """Print open tests with what they say now, one a line."""
    for experiment, judgement in found:
        whose = f"revision {experiment.revision}"
        if experiment.proposal is not None:
            whose = f"proposal {experiment.proposal}, {whose}"
        say(judgement.verdict.value, f": {judgement.because}", before=f"{experiment} ({whose}): ")


def difference(found: str) -> None:
    """Print how files would differ, line by line as in a patch."""
    for line_ in found.splitlines():
        say("", line_)


def as_record(entry: Entry, intents: Mapping[int | None, Entry]) -> dict[str, Any]:
    """Return a line of the ledger with all that belongs to it, a revision's intent included."""
    intent = intents.get(entry.revision) if entry.kind is EntryKind.COMMITTED else None
    body = {**(intent.body if intent is not None else {}), **entry.body}
    return {"kind": str(entry.kind), "step": entry.step, "time": entry.time, **body}


def line(entry: Entry, intents: Mapping[int | None, Entry]) -> None:
    """Print one line of the ledger and, below it, what it changed and what was found."""
    record = as_record(entry, intents)
    details = record.get("details", {})
    rest = f"  revision {record.get('revision')}"
    if record.get("proposal") is not None:
        rest = f"  proposal {record['proposal']}{rest}"
    if "author" in record:
        why = f": {' '.join(record['reason'].split())[:LONGEST_REASON]}" if record["reason"] else ""
        rest += f"  {record['origin']} {_which(details)}by {record['author']}{why}"
    if entry.kind is EntryKind.OPENED:
        rest += f"  {Experiment.from_json(entry.body)}"
    if "verdict" in record:
        rest += f"  {record['verdict']}: {record.get('because', '')}"
    if record.get("rolled_back_by") is not None:
        rest += f"; taken back by revision {record['rolled_back_by']}"
    say(str(entry.kind), rest, before=f"step {entry.step}  ")
    changes(map(knobs.KnobChange.from_json, record.get("changes", ())), before="    ")
    for finding in (*record.get("findings", ()), *details.get("findings", ())):
        say("", f"    {Finding.from_json(finding)}")
    if "forced" in details:
        say("", f"    overruled by a person: {details['forced']['reason']}")
        for finding in details["forced"]["overruled"]:
            say("", f"    {Finding.from_json(finding)}")


def _which(details: Mapping[str, Any]) -> str:
    if "proposal" in details:
        return f"{details['proposal']['number']} "
    if "reverts" in details:
        return f"of revision {details['reverts']} "
    return ""


def visible(text: str) -> str:
    """Return a text with its control characters written out, so that they act on no terminal."""
    return "".join(
        character if character.isprintable() or character == "\n" else f"\\x{ord(character):02x}"
        for character in text
    )
