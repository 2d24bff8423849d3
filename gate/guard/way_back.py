"""The way back: what takes one revision back and nothing else.

A revision can be taken back alone as long as no later one moved what it moved. Who asks, and
whether it is a good idea, is not known here.
"""

from __future__ import annotations

from typing import NoReturn

from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import ABSENT, KnobChange
from gate.guard.history import History

EXEMPT_FROM = ("difficulty", "pace")
"""Rules that are not asked when a change is taken back."""


def changes(past: History, number: int) -> list[KnobChange]:
    """Return the changes that take a revision back.

    Args:
        past: The run's ledger.
        number: The revision's number.

    Raises:
        Refused: if there is no such revision to take back, or a later one moved its knobs.
    """
    found = [one for one in past.revisions if one.number == number and number > 0]
    back = [one for one in past.revisions if one.details.get("reverts") == number]
    if not found or back:
        message = (
            f"Revision {number} was taken back by revision {back[0].number}."
            if back
            else f"There is no revision {number} to take back; they are 1 to {past.newest}."
        )
        _refuse("revert.none", message, "See `gate log` for what is in force.")
    newest = {
        change.path: (change.new, one.number) for one in past.revisions for change in one.changes
    }
    for change in found[0].changes:
        value, moved_by = newest[change.path]
        if value != change.new:
            _refuse(
                "revert.later",
                f"{change.path} was moved again by revision {moved_by}, so revision {number} "
                "cannot be taken back alone.",
                f"Take revision {moved_by} back first, or set {change.path} by itself.",
            )
    named = found[0].details.get("proposal", {}).get("way_back", {})
    return [
        KnobChange(change.path, ABSENT, named.get(change.path, change.old))
        for change in found[0].changes
    ]


def world(past: History, number: int) -> int | None:
    """Return the folder of worlds that was in force before a revision; None if it moved none.

    Args:
        past: The run's ledger.
        number: The revision's number.

    Raises:
        Refused: if a later revision brought other worlds.
    """
    moved = {one.number: one.world for one in past.revisions if one.world != past.world(one.base)}
    if number not in moved:
        return None
    latest = max(moved)
    if moved[latest] != moved[number]:
        _refuse(
            "revert.later",
            f"The worlds were moved again by revision {latest}, so revision {number} cannot be "
            "taken back alone.",
            f"Take revision {latest} back first.",
        )
    return next(past.world(one.base) for one in past.revisions if one.number == number)


def _refuse(rule: str, message: str, next_step: str) -> NoReturn:
    raise Refused([Finding(rule, Severity.ERROR, message, next_step)])
