"""The checks, one file each, in the order in which a reader wants their findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainer.probe.checks import (
    facts_per_reply,
    floor,
    overlap,
    repeats,
    reply_length,
    solvable,
)
from trainer.probe.outcome import Outcome
from trainer.probe.subject import Subject, Version

Check = Callable[[Subject, Version], Outcome]

SIDED: Mapping[str, Check] = {
    reply_length.NAME: reply_length.check,
    facts_per_reply.NAME: facts_per_reply.check,
    repeats.NAME: repeats.check,
    overlap.NAME: overlap.check,
    solvable.NAME: solvable.check,
    floor.NAME: floor.check,
}
"""Checks that look at one version of a world, so that both can be asked."""
