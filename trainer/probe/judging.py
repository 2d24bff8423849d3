"""A version's own verifier, asked in a worker process about turns that were played elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainer.episode import Turn
from trainer.probe.faulted import WorldFaulted
from trainer.probe.subject import Subject, Version
from trainer.task import Task
from trainer.worlds.calls import Call, Fault, Rejudge
from trainer.worlds.seam import Verdict

BATCH = 32
"""Dialogues that are judged at once, each in a process of its own."""


def rejudge(
    subject: Subject,
    version: Version,
    dialogues: Sequence[tuple[Task, Sequence[Turn]]],
    *,
    settings: Mapping[str, Any] | None = None,
) -> list[Verdict]:
    """Return what the verifier of a version says of recorded dialogues, in their order.

    Args:
        subject: The world.
        version: Whose verifier.
        dialogues: For each, the task that was played and the recorded turns.
        settings: What the world was made with; None for the version's own.

    Raises:
        OutOfTime: if the check in progress has no time left.
        WorldFaulted: if the verifier failed.
    """
    verdicts: list[Verdict] = []
    for first in range(0, len(dialogues), BATCH):
        subject.ready(version)
        verdicts += _batch(subject, version, dialogues[first : first + BATCH], settings)
    return verdicts


def _batch(
    subject: Subject,
    version: Version,
    dialogues: Sequence[tuple[Task, Sequence[Turn]]],
    settings: Mapping[str, Any] | None,
) -> list[Verdict]:
    made_with = version.world_settings if settings is None else settings
    calls: dict[str, Call] = {}
    try:
        for task, turns in dialogues:
            key = subject.next_key(version)
            calls[key] = Rejudge(tuple(turns))
            version.host.open(key, task, settings=made_with, seed=subject.episode_seed(task))
        results = version.host.call(calls, deadline_s=subject.call_deadline_s(version))
    finally:
        version.host.close(list(calls))
    verdicts: list[Verdict] = []
    for result in results.values():
        if isinstance(result, Fault):
            raise WorldFaulted(result, version.label)
        assert isinstance(result, Verdict), "a host answers each call with its own kind of result"
        verdicts.append(result)
    return verdicts
