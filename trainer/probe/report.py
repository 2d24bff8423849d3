"""The report of a probe: findings, measured numbers and time, as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from gate.contract.findings import Finding, Severity


@dataclass(frozen=True)
class Report:
    """What a probe has to say."""

    findings: tuple[Finding, ...]
    measured: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By check and world; the larger, the worse."""
    seconds: float = 0.0
    tasks: int = 0
    """Tasks that were tried, over all worlds."""

    @property
    def refuses(self) -> bool:
        """Whether anything stands against the candidate."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def line(self) -> str:
        """Return it as one line of JSON."""
        return json.dumps(
            {
                "findings": [finding.to_json() for finding in self.findings],
                "measured": {check: dict(numbers) for check, numbers in self.measured.items()},
                "seconds": round(self.seconds, 3),
                "tasks": self.tasks,
            },
            allow_nan=False,
        )
