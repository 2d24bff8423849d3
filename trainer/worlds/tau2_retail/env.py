"""The tau2_retail world: the desk of the shop, with its tools, data and policy.

How a desk works is `trainer.worlds.tau2.desk`; what an ending is worth is `verifier`'s word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.task import Task
from trainer.worlds.tau2.desk import Desk
from trainer.worlds.tau2.judged import JudgedDesk

from .verifier import SERVICE  # noqa: TID252 - the folder is loaded by path

prepare = SERVICE.prepare


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> Desk | JudgedDesk:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    desk = SERVICE.desk(task, settings)
    return JudgedDesk(desk, metric=SERVICE.metric) if settings.get("judge") else desk
