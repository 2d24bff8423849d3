"""A version's own verifier, asked in a worker process about turns that were played elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainer.episode import Turn
from trainer.probe.faulted import WorldFaulted
from trainer.probe.subject import Subject, Version
from trainer.question import Answers
from trainer.task import Task
from trainer.worlds.calls import JUDGE_SETTING, Call, Fault, Rejudge
from trainer.worlds.seam import Verdict

BATCH = 32
"""Dialogues that are judged at once, each in a process of its own."""


@dataclass(frozen=True)
class Recorded:
    """A dialogue that was played elsewhere."""

    task: Task
    turns: Sequence[Turn]
    answers: Answers = field(default_factory=dict)
    """What a judge said of it at the time; a probe asks none."""


def rejudge(
    subject: Subject,
    version: Version,
    dialogues: Sequence[Recorded],
    *,
    settings: Mapping[str, Any] | None = None,
) -> list[Verdict | None]:
    """Return what the verifier of a version says of recorded dialogues, in their order.

    None stands where it would ask a judge something that is not on file.

    Args:
        subject: The world.
        version: Whose verifier.
        dialogues: What was played.
        settings: What the world was made with; None for the version's own.

    Raises:
        OutOfTime: if the check in progress has no time left.
        WorldFaulted: if the verifier failed.
    """
    verdicts: list[Verdict | None] = []
    for first in range(0, len(dialogues), BATCH):
        subject.ready(version)
        verdicts += _batch(subject, version, dialogues[first : first + BATCH], settings)
    return verdicts


def _batch(
    subject: Subject,
    version: Version,
    dialogues: Sequence[Recorded],
    settings: Mapping[str, Any] | None,
) -> list[Verdict | None]:
    made_with = version.world_settings if settings is None else settings
    calls: dict[str, Call] = {}
    try:
        for one in dialogues:
            key = subject.next_key(version)
            calls[key] = Rejudge(tuple(one.turns), one.answers)
            judged = {JUDGE_SETTING: True} if one.answers else {}
            version.host.open(
                key,
                one.task,
                settings={**made_with, **judged},
                seed=subject.episode_seed(one.task),
            )
        results = version.host.call(calls, deadline_s=subject.call_deadline_s(version))
    finally:
        version.host.close(list(calls))
    verdicts: list[Verdict | None] = []
    for result in results.values():
        if isinstance(result, Fault):
            raise WorldFaulted(result, version.label)
        verdicts.append(result if isinstance(result, Verdict) else None)
    return verdicts
