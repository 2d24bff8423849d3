"""One write moves a knob only so far, as the knob's schema says; rates are measured by ratio.

Small steps keep an effect attributable. To a person who edits a live file that is advice.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding, Severity
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="One write moves a knob only as far as its schema allows.",
    answers="huggingface/trl#204: the KL grows until every input has one reply.",
    by_hand="warns",
)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every knob that moves further than one write may."""
    severity = Severity.WARNING if change_set.by_hand else Severity.ERROR
    for move in change_set.moves:
        limit = move.spec.max_step
        if limit.allows(move.old, move.new):
            continue
        yield change_set.finding(
            "step-size",
            move.written,
            f"{move.written}: {move.old} -> {move.new} is a large step; one write may move it "
            f"by {limit}.",
            "Go there in several steps and look at each.",
            severity=severity,
            value=move.new,
            limit=limit.size,
        )
