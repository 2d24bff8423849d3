"""A fall that came with a revision: success dropped at the step from which it is in force.

It names the revision and not its cause: the gate's verdict tells whether taking it back helps.
While a test splits the batch nothing is said, since there the guard is looking already.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
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
MOST_AFTER = 10
"""Steps since the revision that count for the standard error; what drifts later has other
causes, and shall not be made certain by their number."""
STILL_LOW = 0.5
"""Share of the fall that the newest steps must show; a fall mended by half is being mended."""


class Change(NamedTuple):
    """A revision that a window holds the beginning of."""

    revision: int
    first_step: int
    before: tuple[Mapping[str, Any], ...]
    """Step records just before it, oldest first."""
    since: tuple[Mapping[str, Any], ...]
    """All since then, whatever came later."""

    @property
    def fall(self) -> float:
        """Mean success lost since then; 0 where one side has none."""
        before, since = _success(self.before), _success(self.since)
        return statistics.fmean(before) - statistics.fmean(since) if before and since else 0.0


def worst_change(window: Window) -> Change | None:
    """Return the revision with which success fell most, among those that a fall stands after.

    A later revision comes into a run that is low already and is not to blame for it: what counts
    is the largest difference between the steps before and all steps since. A fall that was mended
    meanwhile is none.
    """
    found = [change for change in _changes(window) if _stands(change)]
    return max(found, key=lambda change: change.fall, default=None)


def change_of(window: Window, revision: int) -> Change | None:
    """Return a revision with the steps around its beginning; None where a window lacks it."""
    return next((one for one in _changes(window) if one.revision == revision), None)


def detect(window: Window) -> Symptom | None:
    """Compare success since each revision with the steps before it."""
    if window.steps and window.steps[-1].get("sides"):
        return None
    change = worst_change(window)
    if change is None:
        return None
    before, since = _success(change.before), _success(change.since)
    cited = (*change.before[-2:], *change.since[:3])
    return Symptom(
        "fell_with_revision",
        Party.CONFIGURATION,
        f"Success was {statistics.fmean(before):.2f} over {len(before)} steps before revision "
        f"{change.revision} and is {statistics.fmean(since):.2f} over {len(since)} steps since it "
        f"came into force at step {change.first_step}.",
        tuple(f"steps.jsonl#{record['step']}" for record in cited),
        f"`gate log` for what revision {change.revision} changed; the anchors, which never play "
        "under it; then propose to take it back, and let the test decide.",
    )


def _changes(window: Window) -> Iterator[Change]:
    records = [
        one
        for one in window.steps
        if isinstance(one.get("revision"), int) and isinstance(one.get("step"), int)
    ]
    for at in range(1, len(records)):
        revision = records[at]["revision"]
        if revision > records[at - 1]["revision"]:
            before = tuple(records[max(0, at - MOST_BEFORE) : at])
            yield Change(revision, records[at]["step"], before, tuple(records[at:]))


def _stands(change: Change) -> bool:
    """Return whether success fell with a change for sure, and is still low."""
    before, since = _success(change.before), _success(change.since)
    if len(before) < FEWEST_BEFORE or len(since) < FEWEST_AFTER:
        return False
    after = min(len(since), MOST_AFTER)
    error = statistics.stdev(before) * math.sqrt(1 / len(before) + 1 / after)
    lately = statistics.fmean(before) - statistics.fmean(since[-FEWEST_AFTER:])
    return (
        change.fall >= max(LEAST_FALL, LEAST_ERRORS * error)
        and lately >= max(LEAST_FALL, STILL_LOW * change.fall)
        and not _anchors_fell_too(change)
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


def _anchors_fell_too(change: Change) -> bool:
    """Return whether the policy itself became worse: the anchors lost at least half as much."""
    before = signals.values(change.before, "anchor_success")
    since = signals.values(change.since, "anchor_success")
    if not before or not since:
        return False
    return statistics.fmean(before) - statistics.fmean(since) >= change.fall / 2
