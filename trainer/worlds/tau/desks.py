"""The two desks, by the name under which a task asks for one."""

from __future__ import annotations

from collections.abc import Mapping

from trainer.task import Task
from trainer.worlds.tau2.office import Domain

from . import airline, retail  # noqa: TID252 - the folder is loaded by path

DESKS: Mapping[str, Domain] = {"retail": retail.DOMAIN, "airline": airline.DOMAIN}
"""The tools of each desk."""


def desk_of(task: Task) -> Domain:
    """Return the desk at which a task is played.

    Raises:
        ValueError: if there is none of that name.
    """
    name = task.payload["domain"]
    if name not in DESKS:
        raise ValueError(f"task {task.id}: no desk named {name!r}; there are {', '.join(DESKS)}")
    return DESKS[name]
