"""How the open tests of a run stand, for whoever asks; nothing is written and no lock is taken."""

from __future__ import annotations

from collections.abc import Sequence

from gate.contract.experiments import Experiment
from gate.contract.paths import RunPaths
from gate.effects.verdicts import Judgement
from gate.guard import history
from gate.guard.inspection import evidence
from gate.guard.trials import Trials


def open_tests(run: RunPaths, *, worlds: Sequence[str]) -> tuple[tuple[Experiment, Judgement], ...]:
    """Return every open test of a run with what it says now, oldest first.

    Args:
        run: The run; its ledger begins with a launch.
        worlds: Names of the run's worlds.

    Raises:
        ledger.Damaged: if the ledger cannot be trusted.
    """
    past = history.read(run.ledger, worlds=tuple(worlds))
    return Trials(run, tuple(worlds)).standing(past, evidence(run).step + 1)
