"""The code that judges and the tasks that measure are those of the launch.

A change that could not pass must not pass because something around the gate was changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding, Severity
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="The folders of the gate, the trainer and the evaluation are what run.yaml recorded "
    "at the launch.",
    answers="NorthlandPositronics/Cogtrix PR#1411: a setting turns every guard off; "
    "skwallace36/Pepper#250: a check commented out until later.",
    by_hand="silent",
)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every protected folder that differs, and a warning without a record."""
    if change_set.proposal is None:
        return
    if not change_set.known.protected_recorded:
        yield change_set.finding(
            "protected",
            "run",
            "run.yaml records no digests of the code, so nothing shows that it is unchanged.",
            "Launch the next run with this version.",
            severity=Severity.WARNING,
        )
        return
    for folder in change_set.known.protected_differences:
        yield change_set.finding(
            "protected",
            folder,
            f"{folder}/ is not what it was when the run was launched.",
            "Restore it; code is changed by a person and takes a new launch.",
        )
