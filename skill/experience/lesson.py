"""Lessons: one belief a file, with its scope, its evidence and how sure it is.

A file is read whole or refused with the line that is wrong. Only a verdict of the gate carries an
effect, or lifts a belief above a conjecture: a lesson that claims more than its evidence is
refused. What lessons there are, and how they relate, belongs to `skill.experience.pool`.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import tree
from skill import fence, front_matter

LARGEST = 32_768
"""Characters of a lesson's file."""

VERDICT = re.compile(r"runs/[\w.-]+/ledger(?:\.jsonl)?#\d+")
"""How evidence cites a verdict: the run, and the `seq` of the outcome in its ledger."""

_FILE_NAME = re.compile(r"(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.md")
_KEYS = ("id", "status", "recorded", "scope", "knobs", "evidence")
_OPTIONAL = ("effect", "interval", "window", "supersedes")


class Status(StrEnum):
    """How sure a belief is."""

    CONJECTURE = "conjecture"
    """Something was seen; no verdict says that one thing did another."""
    SUPPORTED = "supported"
    """A verdict stands behind it."""
    REFUTED = "refuted"
    """A verdict stands against it."""
    RETRACTED = "retracted"
    """It should not have been recorded; kept so that nobody records it again."""

    @property
    def grade(self) -> str:
        """How far a reader may lean on it."""
        return {
            Status.CONJECTURE: "hunch: test it, do not rely on it",
            Status.SUPPORTED: "a verdict supports it, within its scope",
            Status.REFUTED: "a verdict stands against it",
            Status.RETRACTED: "withdrawn",
        }[self]


class Interval(NamedTuple):
    """A 95% interval of an effect on success."""

    low: float
    high: float


@dataclass(frozen=True)
class Lesson:
    """One belief."""

    id: int
    title: str
    status: Status
    recorded: datetime.date
    world: str
    """The world that it was learnt in; `any` where it does not depend on one."""
    policy: str
    """The policy that it was learnt with; `any` likewise."""
    knobs: tuple[str, ...]
    """Knobs and recipe keys that it is about, by dotted name."""
    evidence: tuple[str, ...]
    body: str
    """What was seen, done and found, and what to do next time; without the title."""
    effect: float | None = None
    """Change of success, as the verdict has it."""
    interval: Interval | None = None
    window: str | None = None
    """Over which steps, as `steps 40-70`."""
    supersedes: int | None = None

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The evidence that cites a verdict of a ledger."""
        return tuple(entry for entry in self.evidence if VERDICT.fullmatch(entry))

    @property
    def text(self) -> str:
        """Everything that a search reads."""
        return " ".join((self.title, self.world, self.policy, *self.knobs, self.body))


def parse(name: str, text: str) -> Lesson:
    """Read a lesson.

    Args:
        name: Its file's name, which begins with its id in four digits.
        text: Its whole content.

    Raises:
        Refused: with every fault, each with its line where it has one.
    """
    numbered = _FILE_NAME.fullmatch(name)
    if numbered is None:
        raise Refused(
            [_flaw(name, "name", f"{name} is no lesson's name.", "Call it NNNN-a-few-words.md.")]
        )
    if len(text) > LARGEST:
        raise Refused(
            [_flaw(name, "size", f"{name} is over {LARGEST} characters.", "Say it in fewer words.")]
        )
    front, body = front_matter.split(name, text)
    values: dict[str, Any] = tree.value_of(front_matter.read(name, front))
    faults = _faults(name, values, body, number=int(numbered.group(1)))
    if faults:
        raise Refused(faults)
    title, _, rest = body.strip().partition("\n")
    scope = values["scope"]
    interval = values.get("interval")
    return Lesson(
        id=values["id"],
        title=title.removeprefix("# ").strip(),
        status=Status(values["status"]),
        recorded=datetime.date.fromisoformat(str(values["recorded"])),
        world=str(scope["world"]),
        policy=str(scope["policy"]),
        knobs=tuple(values["knobs"]),
        evidence=tuple(values["evidence"]),
        body=rest.strip(),
        effect=values.get("effect"),
        interval=None if interval is None else Interval(*interval),
        window=values.get("window"),
        supersedes=values.get("supersedes"),
    )


def _faults(name: str, values: dict[str, Any], body: str, *, number: int) -> list[Finding]:
    """Return what is wrong with the keys, then with what they claim together."""
    faults = [
        _flaw(name, "missing", f"{key} is missing.", f"Add `{key}:` to the front matter.")
        for key in _KEYS
        if key not in values
    ]
    faults += [
        _flaw(
            name,
            "unknown",
            f"{fence.name(key)} is no key of a lesson.",
            f"Keys: {', '.join(_KEYS)}.",
        )
        for key in values
        if key not in _KEYS + _OPTIONAL
    ]
    for key, valid, wanted in _CHECKS:
        value = values.get(key)
        if key in values and not (key in _OPTIONAL and value is None) and not valid(value):
            faults.append(_flaw(name, key, f"{key} is not valid.", f"Write {wanted}."))
    if not re.match(r"\s*# \S", body):
        faults.append(
            _flaw(name, "title", "The text has no title.", "Begin it with `# What was learnt`.")
        )
    if not faults:
        faults = _claims(name, values, number)
    return faults


def _claims(name: str, values: dict[str, Any], number: int) -> list[Finding]:
    """Return where a lesson claims more than its evidence, or contradicts its own name."""
    faults: list[Finding] = []
    if values["id"] != number:
        faults.append(
            _flaw(name, "id", f"id is {values['id']}, the name says {number}.", "Let them agree.")
        )
    verdict = any(VERDICT.fullmatch(entry) for entry in values["evidence"])
    needs = values["status"] in (Status.SUPPORTED, Status.REFUTED)
    measured = values.get("effect") is not None or values.get("interval") is not None
    if (needs or measured) and not verdict:
        what = f"status {values['status']}" if needs else "an effect"
        faults.append(
            _flaw(
                name,
                "verdict",
                f"{what} needs a verdict of the gate, and none is cited.",
                "Cite it as runs/RUN/ledger#SEQ, or call the belief a conjecture without effect.",
            )
        )
    if values.get("supersedes") == number:
        faults.append(
            _flaw(name, "supersedes", "A lesson cannot supersede itself.", "Name an older one.")
        )
    return faults


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) and entry for entry in value)


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _interval(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2 or not all(map(_finite, value)):
        return False
    return value[0] <= value[1]


def _date(value: Any) -> bool:
    try:
        datetime.date.fromisoformat(str(value))
    except ValueError:
        return False
    return True


def _number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _scope(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"world", "policy"}
        and all(isinstance(entry, str) and entry for entry in value.values())
    )


_CHECKS = (
    ("id", _number, "a whole number from 1"),
    ("status", lambda value: value in list(Status), " or ".join(Status)),
    ("recorded", _date, "the day as 2026-03-01"),
    ("scope", _scope, "{world: NAME or any, policy: NAME or any}"),
    ("knobs", _texts, "a list of dotted names"),
    ("evidence", lambda value: _texts(value) and bool(value), "a list with at least one record"),
    ("effect", _finite, "a change of success as a number"),
    ("interval", _interval, "[low, high]"),
    ("window", lambda value: isinstance(value, str), "a text such as steps 40-70"),
    ("supersedes", _number, "the id of an older lesson"),
)


def _flaw(
    name: str, rule: str, message: str, next_step: str, *, line: int | None = None
) -> Finding:
    return Finding(f"lesson.{rule}", Severity.ERROR, message, next_step, file=name, line=line)
