"""The checks, one file each, in the order in which they are made: cheap ones first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainer.probe.checks import (
    backtest,
    coverage,
    deadlock,
    even_handed,
    facts_per_reply,
    false_verdicts,
    floor,
    gains,
    gold,
    isolation,
    observations,
    overlap,
    question_counts,
    recomputed,
    repeats,
    reply_length,
    same_reply,
    solvable,
    stored_verdicts,
)
from trainer.probe.outcome import Outcome
from trainer.probe.subject import Subject, Version

Check = Callable[[Subject, Version], Outcome]

CHECKS: Mapping[str, Check] = {
    deadlock.NAME: deadlock.check,
    coverage.NAME: coverage.check,
    reply_length.NAME: reply_length.check,
    facts_per_reply.NAME: facts_per_reply.check,
    repeats.NAME: repeats.check,
    overlap.NAME: overlap.check,
    solvable.NAME: solvable.check,
    floor.NAME: floor.check,
    recomputed.NAME: recomputed.check,
    observations.NAME: observations.check,
    gains.NAME: gains.check,
    backtest.NAME: backtest.check,
    gold.NAME: gold.check,
    false_verdicts.NAME: false_verdicts.check,
    question_counts.NAME: question_counts.check,
    even_handed.NAME: even_handed.check,
    isolation.NAME: isolation.check,
    same_reply.NAME: same_reply.check,
    stored_verdicts.NAME: stored_verdicts.check,
}
"""Every check by name. Each looks at one version of a world, so that both can be asked."""
