"""The tau2_telecom verifier: what a dialogue at the desk came to, from its turns alone.

What the user did on the phone is not recorded as such: it follows from the agent's words, and is
done again here. The components of the reward are `trainer.worlds.tau2.scoring`. Knows nothing
about prompts, shaping or user engines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainer.episode import Turn
from trainer.task import Task
from trainer.worlds.seam import Verdict
from trainer.worlds.tau2 import shelf, verdicts
from trainer.worlds.tau2.office import Bases

from . import records  # noqa: TID252 - the folder is loaded by path
from .domain import DOMAIN  # noqa: TID252

METRIC = "pass"
"""Name of the reward among the metrics."""


def bases_of(task: Task) -> Bases:
    """Return the databases in which a task begins."""
    return shelf.bases(task, agent=records.agent_records, user=records.user_records)


def rejudge(
    task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
) -> Verdict:
    """Judge a recorded dialogue; no setting of the world matters for its worth.

    Args:
        task: The task that was played.
        turns: The recorded conversation.
        settings: The world's settings at the time.
    """
    return verdicts.rejudge(DOMAIN, task, turns, bases_of(task), metric=METRIC)
