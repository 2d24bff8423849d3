"""Every sampled task is still solvable: the world's oracle reaches full success in the turn limit.

The checkout's verifier must agree with the candidate's, so a world that calls everything solved
gains nothing by it. The oracle hears about facts from the candidate's own user rules.
"""

from __future__ import annotations

from gate.contract.findings import Finding
from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.players import PERFECT
from trainer.probe.subject import Played, Subject, Version
from trainer.task import Task

NAME = "solvable"
MOST_STEPS = 60
"""Turns that the oracle gets when its longest solution is looked for."""
MOST_TRIED = 3
"""Unsolved tasks for which it is."""


def check(subject: Subject, version: Version) -> Outcome:
    """Play the oracle on every task.

    Source:
        EAU: max_steps lowered from 10 to 6 cost .246 of Pass; a task that nobody can solve
        teaches nothing.
    """
    oracle = subject.world.players["oracle"]
    unsolved: list[tuple[Task, Played]] = []
    for task in subject.tasks:
        played = subject.play(version, PERFECT, oracle, task)
        if not played.solved:
            unsolved.append((task, played))
    share = len(unsolved) / max(len(subject.tasks), 1)
    return found(share, _findings(subject, version, unsolved, share))


def _findings(
    subject: Subject, version: Version, unsolved: list[tuple[Task, Played]], share: float
) -> list[Finding]:
    if not unsolved:
        return []
    task, played = unsolved[0]
    told = f"{len(unsolved)} of {len(subject.tasks)} tasks of {subject.name} cannot be solved"
    tried = [task for task, _ in unsolved[:MOST_TRIED]]
    needed, where = max((_needed(subject, version, task), task.id) for task in tried)
    if needed > version.max_steps:
        return [
            finding(
                NAME,
                f"{told} in {version.max_steps} turns: the oracle needs {needed} for {where}.",
                f"Set environment.max_steps to at least {needed} for {subject.name}.",
                path="environment.max_steps",
                value=version.max_steps,
                limit=needed,
            )
        ]
    return [
        finding(
            NAME,
            f"{told}: in {task.id} the oracle ended {played.episode.stop} with success "
            f"{played.claimed:.3g} by the candidate and {played.pinned:.3g} by the checkout's "
            f"verifier.",
            f"Play it with `eau worlds --world {subject.name}` and mend what stops the oracle.",
            path=f"world.{subject.name}",
            value=round(share, 4),
            limit=0,
        )
    ]


def _needed(subject: Subject, version: Version, task: Task) -> int:
    """Return the least limit on turns under which the oracle solves a task; 0 if none does."""
    oracle = subject.world.players["oracle"]

    def solves(max_steps: int) -> bool:
        settings = {task.id: {**version.world_settings, "max_steps": max_steps}}
        (played,) = subject.play_all(version, oracle, [task], settings=settings)
        return played.solved

    below, enough = version.max_steps, MOST_STEPS
    if below >= enough or not solves(enough):
        return 0
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if solves(middle) else (middle, enough)
    return enough
