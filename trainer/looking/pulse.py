"""Whether a run still lives: how old its heartbeat is, and how long that may be.

A step may take minutes, so the patience follows the steps themselves. The clock and the table of
processes are asked by whoever calls; nothing here reads a file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from trainer.looking.reading import Reading, number
from trainer.looking.wording import duration

ENDED = frozenset({"finished", "stopped", "failed"})
"""Phases after which no heartbeat is due."""
GRANTED_S = 60.0
"""Seconds without a heartbeat that are always granted while its process is there."""
PATIENCE = 5
"""Usual lengths of a step after which a heartbeat is overdue."""
GONE_S = 10.0
"""Seconds without a heartbeat, and at least one step, after which its process is looked for."""
RECENT_STEPS = 10
"""Steps whose median tells how long a step usually takes."""


class Pulse(NamedTuple):
    """How a run is."""

    phase: str
    stale: bool
    """Whether it should have been heard of."""
    text: str
    """Phase and heartbeat in words."""


def pulse(reading: Reading, now: float, *, alive: Callable[[int], bool] | None = None) -> Pulse:
    """Return how a run is.

    Args:
        reading: The run.
        now: Seconds since 1970.
        alive: Tells whether a process of this machine is there; by default it is looked up.
    """
    status = reading.status
    phase, beat = str(status.get("phase", "starting")), number(status.get("heartbeat"))
    reason = f": {status['reason']}" if status.get("reason") else ""
    if beat is None or not beat:
        return Pulse(phase, False, f"{phase}, no heartbeat yet{reason}")
    age, at = max(0.0, now - beat), time.strftime("%H:%M:%S", time.localtime(beat))
    if phase in ENDED:
        return Pulse(phase, False, f"{phase} at {at}{reason}")
    process = number(status.get("pid"))
    usual = usual_step_s(reading)
    # Whoever looks from another machine sees no process: a heartbeat in time outweighs that.
    overdue = age > max(GONE_S, usual) and process is not None
    gone = overdue and not (alive or is_there)(int(process or 0))
    if gone or age > max(GRANTED_S, PATIENCE * usual):
        where = f"; no process {process:.0f} on this machine" if gone else ""
        return Pulse(phase, True, f"no heartbeat since {at} ({duration(age)}){where}")
    stage = status.get("stage")
    doing = f", {stage}" if stage and stage != phase else ""
    return Pulse(phase, False, f"{phase}{doing}, heartbeat {duration(age)} ago{reason}")


def usual_step_s(reading: Reading) -> float:
    """Return how long a step usually takes, in seconds; 0 before the first."""
    found = [number(one.get("step_s")) for one in reading.steps[-RECENT_STEPS:]]
    known = [one for one in found if one is not None]
    return median(known) if known else 0.0


def is_there(process: int) -> bool:
    """Return whether a process of this machine is there."""
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
