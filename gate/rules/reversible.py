"""What comes into force can be taken back: a way back names every knob that changes.

A proposal that says nothing goes back to the old values; one that says something says it for
every knob, and says something else than the new value.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="A proposal's way back names every knob that it changes, no other, and leads away "
    "from the new value.",
    answers="EAU: its first three runs had to be restarted (at steps 52, 24 and 78).",
    by_hand="silent",
)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every knob without a way back, and every way back without a knob."""
    proposal = change_set.proposal
    if proposal is None or proposal.way_back is None:
        return
    changed = {change.path: change.new for change in change_set.changes}
    for path, new in changed.items():
        if path not in proposal.way_back:
            message = f"The way back of proposal {proposal.number} does not name {path}."
            step = "Name it there, or leave way_back out to go back to the old values."
        elif proposal.way_back[path] == new:
            message = f"The way back of {path} is {new}, which is the new value."
            step = "Write the value to go back to, or leave way_back out."
        else:
            continue
        yield change_set.finding("reversible", path, message, step)
    for path in proposal.way_back:
        if path not in changed:
            yield change_set.finding(
                "reversible",
                path,
                f"The way back of proposal {proposal.number} names {path}, which it does not "
                "change.",
                "Remove it there.",
            )
