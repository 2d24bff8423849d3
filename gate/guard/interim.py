"""Interim: what a test has shown by some step, told to whoever asks and decided by nobody.

A test is judged at its declared moments; in between it may be looked at, and this is how. Pure
functions of a declaration and step records: no file is opened and no lock is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gate.contract.experiments import Experiment
from gate.effects import series
from gate.effects.designs import Design
from gate.effects.effect import Effect
from gate.effects.eprocess import HARM_AT
from gate.effects.verdicts import Judgement
from gate.guard import judging
from gate.guard.opening import REMEMBERED_STEPS


@dataclass(frozen=True)
class Interim:
    """What a test that is judged had shown after one training step."""

    experiment: Experiment
    step: int
    """The last training step that counts."""
    judgement: Judgement
    """What the guard says after that step; mostly that it is too early."""
    effect: Effect | None
    """The difference so far, in success rate; an interval that is looked at often finds effects
    that are not there, so this is no verdict."""
    harm: float | None
    """Evidence of harm so far; None where none can be gathered."""
    help: float | None
    """Evidence of help so far; None but where both sides play at once."""
    limit: float = HARM_AT
    """Evidence at which a verdict is told."""


def shown(
    experiment: Experiment, records: Iterable[Mapping[str, Any]], *, step: int
) -> Interim | None:
    """Return what a test had shown after one training step; None for one that is not judged.

    Args:
        experiment: The test.
        records: Step records, oldest first, those before the test's baseline included.
        step: The last training step that counts.
    """
    if not experiment.judged or step < experiment.opened:
        return None
    first = experiment.opened - experiment.baseline - REMEMBERED_STEPS
    points = series.points(one for one in records if first <= one["step"] <= step)
    both = experiment.design == Design.CONCURRENT_ARMS
    return Interim(
        experiment,
        step,
        judging.judge(experiment, points, last_step=step),
        judging.effect_of(experiment, points, elapsed=step - experiment.opened + 1),
        judging.evidence(experiment, points, last_step=step, sign=-1),
        judging.evidence(experiment, points, last_step=step, sign=1) if both else None,
    )
