"""How many tasks there is time for: measured on this machine, now, before the checks begin.

On a busy machine a probe tries fewer tasks and finishes, where it would else leave checks undone.
What it tried is told in the report. What the tasks show is not looked at here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from trainer.probe import sampling
from trainer.probe.budget import OutOfTime
from trainer.probe.faulted import WorldFaulted
from trainer.probe.subject import Subject

EPISODES_PER_TASK = 12
"""Scripted episodes that all checks together play on one task, by both sides."""
LOCKSTEP = 0.5
"""Cost of one more episode in a batch, relative to one alone: they share their waiting."""
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
    left = max((subject.budget.left_s for subject in subjects), default=0.0)
    if cost <= PLANNED_SHARE * left:
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
    """Return what all checks cost for one task, by an episode after one that loads the world."""
    began = clock()
    try:
        for _ in range(2):
            began = clock()
            subject.play_all(subject.new, subject.world.players["oracle"], subject.tasks[:1])
    except (OutOfTime, WorldFaulted):
        # A check will meet the same, and tell it.
        pass
    return (clock() - began) * EPISODES_PER_TASK * LOCKSTEP
