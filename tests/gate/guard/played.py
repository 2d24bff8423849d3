"""A run whose steps are made up: a guard at every boundary, records as a trainer writes them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.contract import experiments, files, ledger
from gate.contract.experiments import Experiment, Outcome
from gate.contract.ledger import Revision
from gate.contract.paths import RunPaths
from gate.effects import series
from gate.effects.series import Point
from gate.effects.verdicts import Judgement
from gate.guard import Guard, KnobStatus, setting, standing
from tests import live_run, proposed

EPISODES = 64
TOTAL_STEPS = 400

Extra = Callable[[KnobStatus], Mapping[str, Any]]
"""Further fields of a record, by what is in force."""

Success = Callable[[KnobStatus, str], float]
"""Chance of success of an episode, by what is in force and the side that it is played on."""


def constant(chance: float) -> Success:
    """Return a world in which nothing matters."""
    return lambda status, side: chance


def under(new: float, old: float, *, revision: int = 1) -> Success:
    """Return a world in which one revision matters, wherever it is in force."""

    def chance(status: KnobStatus, side: str) -> float:
        played = (
            status.revision if status.test is None or side == "new" else status.test.old.revision
        )
        return new if played >= revision else old

    return chance


@dataclass
class PlayedRun:
    """One run; `play` does what a trainer does between two boundaries."""

    paths: RunPaths
    guard: Guard
    rng: random.Random = field(default_factory=lambda: random.Random(5))
    step: int = 0
    success: Success = field(default_factory=lambda: constant(0.5))
    anchor_success: float | None = 0.5
    """Chance of success of the anchors; None for a run without any."""
    episodes: int = EPISODES
    arms: Mapping[str, float] = field(default_factory=lambda: {"symbolic": 1.0})
    """Share of the episodes by who plays the user."""
    arms_new: Mapping[str, float] | None = None
    """The same on the new side of a test; None for no difference."""
    bonus: Mapping[str, float] = field(default_factory=dict[str, float])
    """What an arm adds to the chance of success."""
    extra: Extra = lambda status: {}
    """Further fields of a record."""
    statuses: list[KnobStatus] = field(default_factory=list[KnobStatus])

    def play(self, steps: int = 1) -> KnobStatus:
        """Run some steps; returns the status of the last one."""
        for _ in range(steps):
            status = self.look()
            line = json.dumps(self.record(status))
            with self.paths.steps.open("a") as stream:
                stream.write(f"{line}\n")
        return self.statuses[-1]

    def look(self) -> KnobStatus:
        """Come to the next boundary."""
        self.step += 1
        status = self.guard.reconcile(self.step, success_history=self.mastery, now=float(self.step))
        self.statuses.append(status)
        return status

    @property
    def mastery(self) -> list[float | None]:
        """What a trainer tells about the anchors of the last steps."""
        records = files.tail(self.paths.steps, 20).records
        return [record.get("anchor_success") for record in records]

    def restart(self) -> None:
        """Let the trainer die and come back."""
        self.guard = Guard.open(self.paths, worlds=live_run.WORLDS)

    def record(self, status: KnobStatus) -> dict[str, Any]:
        """Return the record of one step under a status."""
        sides = ("old", "new") if status.test is not None else ("in_force",)
        by_side = {
            side: {
                arm: self._share(
                    self.success(status, side) + self.bonus.get(arm, 0.0), share / len(sides)
                )
                for arm, share in self._arms(side).items()
            }
            for side in sides
        }
        counted = by_side[sides[-1]]
        told = {
            "step": self.step,
            "revision": status.revision,
            "world_revision": status.world_revision,
            "started": self.episodes,
            "quarantined": 0,
            "success_by_arm": {arm: part["success"] for arm, part in counted.items()},
            "episodes_by_arm": {arm: part["episodes"] for arm, part in counted.items()},
            "sides": by_side if len(sides) == 2 else {},
            "old_revision": None if status.test is None else status.test.old.revision,
            "learner": {"entropy": 0.5 + self.rng.gauss(0, 0.01), "actor_grad_norm": 1.0},
            "metrics": {},
        }
        told["success"] = sum(told["success_by_arm"].values()) / len(counted)
        if self.anchor_success is not None:
            anchors = self._share(self.anchor_success, 0.125)
            told |= {"anchor_success": anchors["success"], "anchor_episodes": anchors["episodes"]}
        return {**told, **self.extra(status)}

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return what the ledger tells about effects."""
        return experiments.outcomes(ledger.entries(self.paths.ledger))

    def standing(self) -> list[Judgement]:
        """Return what the open tests say now."""
        return [said for _, said in standing.open_tests(self.paths, worlds=live_run.WORLDS)]

    def tests(self) -> list[Experiment]:
        """Return every test on the ledger."""
        return list(experiments.declared(ledger.entries(self.paths.ledger)).values())

    def revisions(self) -> tuple[Revision, ...]:
        """Return the revisions in force so far."""
        return ledger.revisions(self.paths.ledger)

    def _arms(self, side: str) -> Mapping[str, float]:
        return self.arms_new if self.arms_new is not None and side == "new" else self.arms

    def _share(self, chance: float, share: float) -> dict[str, Any]:
        number = max(round(self.episodes * share), 1)
        won = sum(self.rng.random() < chance for _ in range(number))
        return {"success": won / number, "episodes": number}


def launch(root: Path, *, groups: int = 16, steps: int = TOTAL_STEPS, **fields: Any) -> PlayedRun:
    """Return a run that was launched and has not played yet.

    Args:
        root: Its folder.
        groups: Groups of episodes in each step.
        steps: Steps of the whole run.
        fields: Of the `PlayedRun`.
    """
    paths = live_run.launch(root)
    paths.proposals.mkdir()
    paths.experiments.mkdir()
    paths.episodes.mkdir()
    proposed.record_launch(paths)
    with paths.launch.open("a") as stream:
        stream.write(f"  total_steps: {steps}\n  rollout:\n    dialogues_per_step: {groups}\n")
        stream.write("    group_size: 1\n")
    return PlayedRun(paths, Guard.open(paths, worlds=live_run.WORLDS), **fields)


def command(run: PlayedRun, path: str, value: object) -> None:
    """Give one knob another value as `gate set` does."""
    setting.set_knob(
        run.paths, path, value, reason="a test", worlds=live_run.WORLDS, now=0.0, timeout_s=1.0
    )


def points(run: RunPaths) -> tuple[Point, ...]:
    """Return what the records of a run show."""
    return series.points(files.read_lines(run.steps).records)
