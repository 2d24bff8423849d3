"""Collecting episodes: every assignment is played to its end, judged, and frozen into values.

Episodes stand in the order dealt and each has its own chance, so the result does not depend on
who was fast. Whatever fails costs its own episode: it becomes a quarantined value with a reason,
never a zero and never a crash. In which order the turns of many dialogues are played is decided
by what the sampler can do (`trainer.rollout.concurrent`, `trainer.rollout.lockstep`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gate.contract.sides import Side
from gate.guard import Condition
from trainer.episode import Episode
from trainer.policy.sampler import TurnsInFlight
from trainer.rollout import concurrent, lockstep, stages
from trainer.rollout.dialogue import Dialogue
from trainer.rollout.judging import judge, rescore
from trainer.rollout.scene import Performance, Scene
from trainer.rollout.schedule import Assignment
from trainer.rollout.sitting import Judging
from trainer.rollout.stopwatch import Stopwatch
from trainer.trajectory import Trajectory


class Rollout(NamedTuple):
    """All episodes gathered under one policy version, in the order they were dealt."""

    episodes: tuple[Episode, ...]
    trajectories: tuple[Trajectory, ...]
    """Of the finished ones, in the same order."""
    num_tokens: Mapping[str, tuple[int, int]]
    """Per episode: tokens of the dialogue, and those that the policy wrote."""
    timings: Mapping[str, float]
    """Seconds of the whole (`rollout`) and those in which anything was under way with the sampler
    (`sample`), the worlds (`world`) or the users (`user`); these overlap where dialogues do."""
    unscored: Mapping[str, str] = {}
    """By episode, why revision 0's verifier had no word on it."""
    judging: Judging = Judging()
    """What was asked of the judge."""


def collect(
    assignments: Sequence[Assignment], scene: Scene, *, conditions: Mapping[Side, Condition]
) -> Rollout:
    """Play every assignment to its end.

    Args:
        assignments: The episodes of one step.
        scene: Who takes part.
        conditions: What each side that is dealt plays under, for the whole rollout.
    """
    watch = Stopwatch(scene.clock)
    performance = Performance(scene, conditions)
    # Made here, before several threads may ask for it.
    sitting = performance.sitting
    # A model in this process writes all turns of a round for little more than one.
    play = concurrent.play if isinstance(scene.sampler, TurnsInFlight) else lockstep.play
    with watch("rollout"):
        dialogues = [stages.begin(entry, performance) for entry in assignments]
        try:
            play(dialogues, performance, watch)
            with watch("world"):
                judge(dialogues, performance)
        finally:
            performance.close(dialogues)
        with watch("world"):
            unscored = rescore(dialogues, performance)
    return _freeze(dialogues, watch, unscored)._replace(judging=sitting.judging)


def _freeze(
    dialogues: Sequence[Dialogue], watch: Stopwatch, unscored: Mapping[str, str]
) -> Rollout:
    episodes = tuple(dialogue.freeze() for dialogue in dialogues)
    pairs = [
        dialogue.trajectory(episode) for dialogue, episode in zip(dialogues, episodes, strict=True)
    ]
    return Rollout(
        episodes=episodes,
        trajectories=tuple(trajectory for trajectory in pairs if trajectory is not None),
        num_tokens={
            one.key: (len(one.stream.ids), sum(one.stream.action_mask)) for one in dialogues
        },
        timings=watch.seconds,
        unscored=unscored,
    )
