"""One change at a time, and time for each to show what it does.

A proposal asks for a window of steps in which nothing else changes; a second one waits until it
is over, unless it declares itself concurrent and moves other knobs. A knob that was written rests
until its effect can be expected. To a person who edits a live file an open window is a warning,
and a second thought of their own about one knob is nobody's business.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding, Severity
from gate.contract.knobs import ABSENT, KnobChange
from gate.contract.windows import Window
from gate.rules.change_set import ChangeSet, Move
from gate.rules.declaration import Declaration

REST_STEPS = 5
"""Steps for which any written knob rests; longer where its effect lags."""

DECLARATION = Declaration(
    sentence="One window is open at a time unless a change is declared concurrent, and a written "
    "knob rests until its effect can be expected.",
    answers="EAU: an entropy change whose effect lags behind its window; "
    "karpathy/autoresearch#131, #466: luck counted as a win.",
    by_hand="warns",
)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every open window that is disturbed and every knob that must rest."""
    if not change_set.moved:
        return
    for window in change_set.windows:
        if not _may_join(change_set, window):
            yield _in_window(change_set, window)
    if not change_set.by_hand:
        for move in change_set.moves:
            yield from _resting(change_set, move)


def _may_join(change_set: ChangeSet, window: Window) -> bool:
    proposal = change_set.proposal
    if proposal is None or not proposal.concurrent:
        return False
    return window.knobs.isdisjoint(change_set.moved)


def _in_window(change_set: ChangeSet, window: Window) -> Finding:
    shared = sorted(change_set.moved & window.knobs)
    written = {move.path: move.written for move in change_set.moves}
    first = (shared or [move.path for move in change_set.moves] or sorted(change_set.moved))[0]
    whose = f"revision {window.revision}"
    if window.proposal is not None:
        whose = f"proposal {window.proposal} ({whose})"
    wait = f"Wait until step {window.last_step + 1}"
    return change_set.finding(
        "pace",
        written.get(first, first),
        f"The window of {whose} is open until step {window.last_step}, and "
        f"{shared[0] if shared else 'another change'} would blur what it shows.",
        f"{wait}." if shared else f"{wait}, or declare it: concurrent: true.",
        severity=Severity.WARNING if change_set.by_hand else Severity.ERROR,
        value=change_set.step,
        limit=window.last_step,
    )


def _resting(change_set: ChangeSet, move: Move) -> Iterator[Finding]:
    written = [
        step
        for path, step in change_set.last_written.items()
        if KnobChange(path, ABSENT, ABSENT).knob == move.path
    ]
    rest = max(REST_STEPS, move.spec.lag_steps)
    if not written or change_set.step >= max(written) + rest:
        return
    yield change_set.finding(
        "pace",
        move.written,
        f"{move.written} was written at step {max(written)}, and its effect can be told after "
        f"{rest} steps.",
        f"Wait until step {max(written) + rest}.",
        value=change_set.step,
        limit=max(written) + rest,
    )
