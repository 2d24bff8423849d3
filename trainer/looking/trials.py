"""Tests that were open at a step, with what they had shown by then and what became of them.

What a test says is asked of the gate, which alone can tell; what it showed before its declared
moments is no verdict and is told as what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gate.contract.experiments import Experiment, Outcome
from gate.contract.records import told
from gate.guard import interim
from gate.guard.history import History
from gate.guard.interim import Interim
from trainer.looking.reading import Reading


@dataclass(frozen=True)
class Trial:
    """One test, as it stood after a training step."""

    number: int = told("Number of the test, `experiments/NNNN.yaml`.")
    revision: int = told("The revision with the new values.")
    old_revision: int = told("The revision that they are compared with.")
    design: str = told("concurrent_arms, reversal or before_after; empty where it is not judged.")
    opened: int = told("The first training step of the test.")
    judged_after: int | None = told("The step after which it is judged; null where it is not.")
    says: str = told("What the guard said after the step: mostly that it is too early.")
    difference: float | None = told("Success, new minus old, so far; no verdict.")
    low: float | None = told("Lower end of its 95% interval.")
    high: float | None = told("Upper end of it.")
    harm: float | None = told("Evidence of harm so far.")
    help: float | None = told("Evidence of help so far; null but with concurrent arms.")
    limit: float | None = told("Evidence at which a verdict is told.")
    verdict: str | None = told("The verdict that ended it later; null while it is open.")
    closed: int | None = told("The step at whose start that was told.")


def open_at(reading: Reading, step: int) -> tuple[Trial, ...]:
    """Return the tests that were open in a training step, oldest first.

    Args:
        reading: The run.
        step: A step on record; what came after it is told as `verdict` and `closed` alone.
    """
    past = reading.past
    return tuple(_open_at(reading, past, step)) if past is not None else ()


def ending(past: History, test: Experiment) -> Outcome | None:
    """Return what ended a test; None while it is open, and for one that is not judged."""
    found = (one for one in past.effects if one.experiment == test.number and one.ends_the_test)
    return next(found, None)


def _open_at(reading: Reading, past: History, step: int) -> Iterator[Trial]:
    for test in past.experiments.values():
        end = ending(past, test)
        if test.opened > step or (end is not None and end.step <= step):
            continue
        shown = interim.shown(test, reading.steps, step=step)
        # One that cannot be judged is told once, with the step that it would have begun with.
        if shown is not None or test.opened == step:
            yield _trial(test, shown, end)


def _trial(test: Experiment, shown: Interim | None, end: Outcome | None) -> Trial:
    effect = shown.effect if shown is not None else None
    return Trial(
        number=test.number,
        revision=test.revision,
        old_revision=test.old_revision,
        design=test.design,
        opened=test.opened,
        judged_after=test.opened + test.ready_after - 1 if test.judged else None,
        says=str(shown.judgement) if shown is not None else f"not judged: {test.because}",
        difference=effect and effect.difference,
        low=effect and effect.low,
        high=effect and effect.high,
        harm=shown and shown.harm,
        help=shown and shown.help,
        limit=shown and shown.limit,
        verdict=end and end.verdict,
        closed=end and end.step,
    )
