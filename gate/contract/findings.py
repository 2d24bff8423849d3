"""What a check noticed: the thing, the value, the limit, and what to do next.

One `Finding` is one sentence to a person or an agent who has one chance to act on it; `Refused`
carries all findings of one file or write at once. This module knows nothing about who checks what.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

LONGEST_QUOTED_TEXT = 200
"""Characters of a refused text that a record repeats."""


class Severity(StrEnum):
    """Whether a finding stops what was asked for."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """One thing that a check noticed."""

    rule: str
    """Stable name of the rule, as in `knobs.range`; programs may compare it."""
    severity: Severity
    message: str
    """One sentence: the thing, its value and the limit."""
    next_step: str
    """One sentence: what to do about it."""
    file: str | None = None
    line: int | None = None
    """Line of the value in `file`, from 1."""
    column: int | None = None
    """Column of the value in characters, from 1; a leading byte order mark does not count."""
    path: str | None = None
    """Dotted name of the knob or part, as in `user.facts_per_reply`."""
    value: Any = None
    """The value found."""
    limit: Any = None
    """The bound or list of choices that the value broke."""

    @property
    def place(self) -> str:
        """`file:line:column`, as far as they are known; terminals and editors make it a link."""
        known = (part for part in (self.file, self.line, self.column) if part is not None)
        return ":".join(str(part) for part in known)

    def __str__(self) -> str:
        """Return place, message and next step on one line."""
        sentence = f"{self.message} {self.next_step}".strip()
        return f"{self.place}: {sentence}" if self.place else sentence

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; a value that JSON cannot hold (nan, inf) becomes its name."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "message": self.message,
            "next_step": self.next_step,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "value": _plain(self.value),
            "limit": _plain(self.limit),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Finding:
        """Return the finding that `to_json` wrote."""
        fields: dict[str, Any] = {**record, "severity": Severity(record["severity"])}
        return cls(**fields)


class Refused(Exception):
    """Something asked for was refused as a whole, for all these reasons."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        """Keep the findings in the order in which a reader meets them.

        Raises:
            ValueError: if there is no finding: a refusal without a reason helps nobody.
        """
        self.findings: tuple[Finding, ...] = tuple(findings)
        if not self.findings:
            raise ValueError("a refusal needs at least one finding")
        super().__init__(self.findings)

    def __str__(self) -> str:
        """Return one line for each finding."""
        return "\n".join(str(finding) for finding in self.findings)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return value if len(value) <= LONGEST_QUOTED_TEXT else value[:LONGEST_QUOTED_TEXT] + "…"
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value)
        return {str(key): _plain(entry) for key, entry in entries.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry) for entry in cast("Iterable[Any]", value)]
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)
