"""The generated part of `docs/gate.md`: every rule as it declares itself, with a real message."""

from __future__ import annotations

from gate import rules, selftest
from gate.contract.findings import Severity

_BY_HAND = {"binds": "binds", "warns": "a warning", "silent": "not asked"}


def markdown() -> str:
    """Return the table of the rules and, for each, what it says to its first known-bad input."""
    rows = [
        "| rule | what must hold | severity | to a saved file | answers |",
        "|---|---|---|---|---|",
    ]
    examples: list[str] = []
    results = selftest.run()
    for name, declared in rules.DECLARATIONS.items():
        told = [result for result in results if result.rule == name]
        severities = {one.severity for result in told for one in result.findings}
        worst = Severity.ERROR if Severity.ERROR in severities else Severity.WARNING
        by_hand = _BY_HAND[declared.by_hand]
        rows.append(
            f"| `{name}` | {declared.sentence} | {worst} | {by_hand} | {declared.answers} |"
        )
        first = told[0]
        examples.append(f"`{name}` refuses {first.what}:\n\n    {first.findings[0]}\n")
    return "\n".join([*rows, "", *examples])
