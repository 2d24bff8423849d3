"""Suspicion: a revision of this run that turned a knob against the move that a symptom asks for.

Where many episodes are cut and a revision lowered the limit, that revision is taken back before
anything else is turned further. It needs no fall of success that stands out from the noise: the
symptom and the ledger agree already. Whether taking it back helps is for the gate's test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gate.contract.ledger import Revision, RevisionKind
from skill.operator.playbook import Move
from skill.standing import Standing


def turned_against(
    move: Move, old: Any, new: Any, revisions: Sequence[Revision], found: Sequence[Standing]
) -> Revision | None:
    """Return the revision to suspect: it gave the knob its value, from the side the move goes to.

    Never suspected are what takes another revision back, since somebody decided that already,
    and what was judged a help.

    Args:
        move: The move that the symptom asks for.
        old: The value in force.
        new: The value that the move would make.
        revisions: Those of the run, in their order.
        found: What became of its proposals.
    """
    writers = [
        (revision, change)
        for revision in revisions
        for change in revision.changes
        if revision.kind is not RevisionKind.LAUNCH and change.path == move.knob
    ]
    if not writers:
        return None
    revision, change = writers[-1]
    takes_back = revision.kind is RevisionKind.REVERT or "reverts" in revision.details
    if takes_back or revision.number in _helped(found):
        return None
    turned, wanted = _way(change.old, change.new), _way(old, new)
    return revision if turned * wanted < 0 else None


def _helped(found: Sequence[Standing]) -> set[int | None]:
    return {one.revision for one in found if one.told is not None and one.told.verdict == "help"}


def _way(old: Any, new: Any) -> float:
    """Return how far a value was turned: above 0 is up, 0 is not at all or not to be told."""
    before, after = _strength(old), _strength(new)
    return 0.0 if before is None or after is None else after - before


def _strength(value: Any) -> float | None:
    """Return a value as a number; of reward rules, what they pay in all."""
    if isinstance(value, list):
        rules = [rule for rule in value if isinstance(rule, Mapping)]
        return sum(float(rule["value"]) for rule in rules if rule["value"] > 0)
    return float(value) if isinstance(value, int | float) else None
