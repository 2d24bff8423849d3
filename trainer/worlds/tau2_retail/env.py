"""The tau2_retail world: the desk of the shop, with its tools, data and policy.

How a desk works is `trainer.worlds.tau2.desk`; what an ending is worth is `verifier`'s word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.task import Task
from trainer.worlds.tau2 import shelf
from trainer.worlds.tau2.desk import Desk
from trainer.worlds.tau2.judged import JudgedDesk

from . import verifier  # noqa: TID252 - the folder is loaded by path
from .tools import DOMAIN  # noqa: TID252


def prepare(task: Task) -> None:
    """Read the databases and the policy that tasks share, so that no episode has to."""
    verifier.bases_of(task)
    shelf.policy(task)


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> Desk | JudgedDesk:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    policy = "\n\n".join(shelf.policy(task))
    desk = Desk(
        DOMAIN, task, verifier.bases_of(task), settings, policy=policy, metric=verifier.METRIC
    )
    return JudgedDesk(desk, metric=verifier.METRIC) if settings.get("judge") else desk
