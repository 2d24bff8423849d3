"""A knob that the run's method does not use is not changed: it would be written and do nothing.

Source:
    Public runs whose sweeps moved a knob that a critic-free method never read.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="A knob that changes is one that the run's credit estimator uses.",
    answers="EAU: world keys that resolve to nothing; a value that is in force and does nothing.",
)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every knob that would be in force without an effect."""
    if change_set.credit is None:
        return
    for move in change_set.moves:
        if move.spec.credit and change_set.credit not in move.spec.credit:
            yield change_set.finding(
                "acts",
                move.written,
                f"{move.written} acts under {', '.join(move.spec.credit)} alone, and this run's "
                f"credit is {change_set.credit}: the value would do nothing.",
                "Put the old value back; choose learner.credit in the recipe of a new run.",
                value=move.new,
                limit=change_set.credit,
            )
