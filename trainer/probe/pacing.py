"""How many tasks there is time for: measured on this machine, now, before the checks begin.

On a busy machine a probe tries fewer tasks and finishes, where it would else leave checks undone.
What it tried is told in the report. What the tasks show is not looked at here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from trainer.probe import sampling
from trainer.probe.budget import OutOfTime
from trainer.probe.faulted import WorldFaulted
from trainer.probe.subject import Subject

EPISODES_PER_TASK = 12
"""Scripted episodes that all checks together play on one task, by both sides."""
LEAST_MARGIN = 0.2
"""Cost of one more episode in a batch that is assumed at least, relative to one alone."""
PLANNED_SHARE = 0.6
"""Share of the time that may be planned; the rest is for what was not foreseen."""


def fit(subjects: Sequence[Subject], *, clock: Callable[[], float] = time.monotonic) -> None:
    """Leave out tasks for which there is no time, at least one stays in every world.

    Args:
        subjects: The worlds under probe; one episode is played in each to see how long it takes.
        clock: Seconds since any fixed point.
    """
    _begin_loading(subjects)
    cost = sum(_seconds(subject, clock) * len(subject.tasks) for subject in subjects)
    left = max(0.0, *(subject.budget.left_s for subject in subjects)) if subjects else 0.0
    if cost <= PLANNED_SHARE * left or not cost:
        return
    kept = PLANNED_SHARE * left / cost
    for subject in subjects:
        most = max(1, int(len(subject.tasks) * kept))
        subject.tasks = sampling.draw(subject.tasks, most, seed=subject.seed)


def _begin_loading(subjects: Sequence[Subject]) -> None:
    """Have the processes of all worlds start side by side; what goes wrong shows later."""
    for subject in subjects:
        new, task = subject.new, subject.tasks[0]
        key = subject.next_key(new)
        new.host.open(key, task, settings=new.world_settings, seed=subject.episode_seed(task))
        new.host.close([key])


def _seconds(subject: Subject, clock: Callable[[], float]) -> float:
    """Return what all checks cost for one more task: 0 if the world fails, inf if time is up.

    Episodes of a batch share their waiting, so what counts is how much longer two take than one.
    """
    oracle, tasks = subject.world.players["oracle"], subject.tasks[:1]
    took: list[float] = []
    try:
        # The first one loads the world, and is not counted.
        for batch in (tasks, tasks, tasks * 2):
            began = clock()
            subject.play_all(subject.new, oracle, batch)
            took.append(clock() - began)
    except OutOfTime:
        return math.inf
    except WorldFaulted:
        # A check will meet the same, and tell it.
        return 0.0
    _, alone, together = took
    return EPISODES_PER_TASK * max(together - alone, LEAST_MARGIN * alone)
