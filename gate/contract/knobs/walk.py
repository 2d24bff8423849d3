"""One pass over a document: where it is, what it has refused, and in which words.

This module knows nothing about which values are wrong.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from gate.contract.findings import Finding, Severity
from gate.contract.knobs.tree import Parts


@dataclass(frozen=True)
class Fault:
    """A finding and the part of the document it is about."""

    parts: Parts
    finding: Finding
    at_key: bool = False
    """True when the key itself is wrong rather than its value."""


@dataclass
class Walk:
    """What one pass over a document has found."""

    root: Mapping[str, Any]
    file: str
    worlds: Collection[str]
    faults: list[Fault] = field(default_factory=list[Fault])

    def refuse(
        self,
        parts: Parts,
        rule: str,
        message: str,
        next_step: str,
        *,
        value: Any = None,
        limit: Any = None,
        at_key: bool = False,
    ) -> None:
        """Note a fault; `knobs.` is put before the rule's name."""
        finding = Finding(
            rule=f"knobs.{rule}",
            severity=Severity.ERROR,
            message=message,
            next_step=next_step,
            path=dotted(self.file, parts),
            value=value,
            limit=limit,
        )
        self.faults.append(Fault(parts, finding, at_key))

    def name(self, parts: Parts) -> str:
        """Return the path of a part, as in `user.facts_per_reply`."""
        return dotted(self.file, parts)


def dotted(file: str, parts: Parts) -> str:
    """Return the path of a part, as in `user.worlds.travel.facts_per_reply`."""
    return ".".join((file, *(str(part) for part in parts)))


def shown(value: Any) -> str:
    """Return a value as a refusal quotes it: JSON on one line, cut at 80 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:80] + "…"


def types(declared: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the JSON types that a schema without `enum` allows."""
    names = declared["type"]
    return (names,) if isinstance(names, str) else tuple(cast("Sequence[str]", names))


_WORDS = {
    "null": "null",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "a map of names to values",
}


def article(names: Sequence[str]) -> str:
    """Return types in words, as in `a number or null`."""
    return " or ".join(_WORDS[name] for name in names)


def wanted(declared: Mapping[str, Any]) -> str:
    """Return in words what a schema accepts."""
    if "enum" in declared:
        return " or ".join(declared["enum"])
    words = article(types(declared))
    low = declared.get("minimum", declared.get("exclusiveMinimum"))
    high = declared.get("maximum")
    if low is None or high is None:
        return words
    above = "above" if "exclusiveMinimum" in declared else "from"
    return (
        f"{words}, {above} {low} to {high}"
        if above == "from"
        else (f"{words}, above {low} and up to {high}")
    )
