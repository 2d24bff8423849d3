"""A fall that came with a revision: success dropped at the step from which it is in force.

It names the revision and not its cause: the gate's verdict tells whether taking it back helps.
Steps in which a test splits the batch are left out, since there the guard is looking already.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

from skill.diagnosis import signals
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

FEWEST_AFTER = 3
FEWEST_BEFORE = 5
MOST_BEFORE = 10
"""Steps before the revision that are compared with; older ones belong to a weaker policy."""
LEAST_FALL = 0.15
"""Success that must be lost before anybody is alarmed."""
LEAST_ERRORS = 3.0
"""Standard errors that it must be below what was before."""


class Change(NamedTuple):
    """The newest revision that a window holds the beginning of."""

    revision: int
    first_step: int
    before: tuple[Mapping[str, Any], ...]
    """Step records before it, oldest first."""
    since: tuple[Mapping[str, Any], ...]

    @property
    def fall(self) -> float:
        """Mean success lost since then; 0 where one side has none."""
        before, since = _success(self.before[-MOST_BEFORE:]), _success(self.since)
        return statistics.fmean(before) - statistics.fmean(since) if before and since else 0.0


def newest_change(window: Window) -> Change | None:
    """Return the newest change of revision among the steps read; None if there was none."""
    records = [one for one in window.steps if isinstance(one.get("revision"), int)]
    if not records:
        return None
    newest = records[-1]["revision"]
    first = next(at for at, one in enumerate(records) if one["revision"] == newest)
    if first == 0 or not isinstance(records[first].get("step"), int):
        return None
    return Change(newest, records[first]["step"], tuple(records[:first]), tuple(records[first:]))


def detect(window: Window) -> Symptom | None:
    """Compare success since the newest revision with the steps before it."""
    change = newest_change(window)
    if change is None or any(record.get("sides") for record in change.since):
        return None
    before, since = _success(change.before[-MOST_BEFORE:]), _success(change.since)
    if len(before) < FEWEST_BEFORE or len(since) < FEWEST_AFTER:
        return None
    was, now = statistics.fmean(before), statistics.fmean(since)
    error = statistics.stdev(before) * math.sqrt(1 / len(before) + 1 / len(since))
    if was - now < max(LEAST_FALL, LEAST_ERRORS * error) or _anchors_fell_too(change, was - now):
        return None
    cited = (*change.before[-2:], *change.since[-3:])
    return Symptom(
        "fell_with_revision",
        Party.CONFIGURATION,
        f"Success was {was:.2f} over {len(before)} steps before revision {change.revision} and is "
        f"{now:.2f} over {len(since)} steps since it came into force at step {change.first_step}.",
        tuple(f"steps.jsonl#{record['step']}" for record in cited),
        f"`gate log` for what revision {change.revision} changed; the anchors, which never play "
        "under it; then propose to take it back, and let the test decide.",
    )


def _success(records: tuple[Mapping[str, Any], ...]) -> list[float]:
    """Return the success of each step, by the verifier of revision 0 where that is known."""
    found = (
        signals.number(record, "pinned_success")
        if signals.number(record, "pinned_success") is not None
        else signals.number(record, "success")
        for record in records
    )
    return [value for value in found if value is not None]


def _anchors_fell_too(change: Change, fall: float) -> bool:
    """Return whether the policy itself became worse: the anchors lost at least half as much."""
    before = signals.values(change.before[-MOST_BEFORE:], "anchor_success")
    since = signals.values(change.since, "anchor_success")
    if not before or not since:
        return False
    return statistics.fmean(before) - statistics.fmean(since) >= fall / 2
