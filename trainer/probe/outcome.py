"""What one check found in one world: its findings, and one number to hold them against.

The number is a badness: the larger, the worse, and 0 or below the limit is well. So the same check
on what is in force tells whether a fault came with the candidate or was there before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gate.contract.findings import Finding, Severity

PREFIX = "probe."


@dataclass(frozen=True)
class Outcome:
    """The result of one check in one world."""

    measured: float | None = None
    """How bad it is; None where there was nothing to measure."""
    findings: tuple[Finding, ...] = ()

    @property
    def refuses(self) -> bool:
        """Whether a finding stands against the candidate."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


NOTHING = Outcome()


def found(measured: float | None, findings: Iterable[Finding] = ()) -> Outcome:
    """Return an outcome with a rounded number, as reports hold it."""
    return Outcome(None if measured is None else round(measured, 6), tuple(findings))


def finding(
    check: str,
    message: str,
    next_step: str,
    *,
    path: str | None = None,
    value: Any = None,
    limit: Any = None,
    severity: Severity = Severity.ERROR,
    file: str | None = None,
    line: int | None = None,
    column: int | None = None,
) -> Finding:
    """Return what a check noticed, under the name `probe.<check>` (see `Finding` for the rest)."""
    return Finding(
        rule=PREFIX + check,
        severity=severity,
        message=message,
        next_step=next_step,
        file=file,
        line=line,
        column=column,
        path=path,
        value=value,
        limit=limit,
    )
