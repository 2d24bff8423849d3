"""A service: what a world says about its desk, and what follows from that alike in all of them.

A world keeps one in its `verifier.py`; the functions that its two files must have are the methods,
unless the world does something otherwise. What an agent reads and may do is the desk's matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.episode import Turn
from trainer.task import Task
from trainer.worlds.seam import Verdict
from trainer.worlds.tau2 import shelf, verdicts
from trainer.worlds.tau2.desk import Desk
from trainer.worlds.tau2.office import Bases, Domain
from trainer.worlds.tau2.shelf import Shape


@dataclass(frozen=True)
class Service:
    """One world's desk."""

    domain: Domain
    agent: Shape = dict
    """Shape of the agent's database."""
    user: Shape = dict
    """Shape of the user's."""
    metric: str = "pass"
    """Name of the reward among the metrics."""

    def bases_of(self, task: Task) -> Bases:
        """Return the databases in which a task begins."""
        return shelf.bases(task, agent=self.agent, user=self.user)

    def policy_of(self, task: Task) -> tuple[str, ...]:
        """Return the texts of the policy on the task's shelf, in their order."""
        return shelf.policy(task)

    def prepare(self, task: Task) -> None:
        """Read the databases and the policy that tasks share, so that no episode has to."""
        self.bases_of(task)
        self.policy_of(task)

    def make(self, task: Task, *, settings: Mapping[str, Any], seed: int) -> Desk:
        """Return a fresh world for one episode; a desk has no chance, so no use for a seed."""
        return self.desk(task, settings)

    def desk(self, task: Task, settings: Mapping[str, Any], *, policy: str | None = None) -> Desk:
        """Return a fresh desk.

        Args:
            task: The task to play.
            settings: What the world was made with.
            policy: What the agent may and must do; None for the texts on the task's shelf.
        """
        words = "\n\n".join(self.policy_of(task)) if policy is None else policy
        return Desk(
            self.domain, task, self.bases_of(task), settings, policy=words, metric=self.metric
        )

    def rejudge(
        self, task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
    ) -> Verdict:
        """Judge a recorded dialogue; no setting of the world matters for its worth.

        Args:
            task: The task that was played.
            turns: The recorded conversation.
            settings: The world's settings at the time.
        """
        return verdicts.rejudge(self.domain, task, turns, self.bases_of(task), metric=self.metric)
