"""Planted faults: what a recipe breaks on purpose, checked at the launch and in force on time.

A fault is a revision of its own kind in the ledger, so a resumed run plants none twice. Whether
anybody notices is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gate.contract import files, knobs
from gate.contract.knobs import ABSENT, KnobChange
from gate.contract.paths import RunPaths
from gate.guard import Revision, plant
from trainer.errors import Unusable
from trainer.recipe import PlantedFault

PATIENCE_S = 2.0
"""How long a step waits for another process's transaction, in seconds."""


def check(faults: Mapping[str, PlantedFault], *, worlds: Sequence[str]) -> None:
    """Refuse a recipe whose planted faults could not come into force.

    Args:
        faults: What the recipe plants, by name.
        worlds: Names of the run's worlds.

    Raises:
        Unusable: naming the fault, the value and what is allowed.
    """
    steps = [fault.step for fault in faults.values()]
    for name, fault in faults.items():
        if fault.step < 1 or steps.count(fault.step) > 1:
            raise Unusable(
                f"plant.{name}: step {fault.step}; steps start at 1, and each has one fault"
            )
        for path, value in fault.knobs.items():
            spec = knobs.specs().get(KnobChange(path, ABSENT, value).knob)
            if spec is None:
                raise Unusable(f"plant.{name}: {path} is no knob; write it as user.max_reveals")
            _, faulty = knobs.check_value(spec, value, worlds=worlds)
            if faulty:
                raise Unusable(f"plant.{name}: {faulty[0]}")


def due(
    faults: Mapping[str, PlantedFault],
    paths: RunPaths,
    *,
    worlds: Sequence[str],
    step: int,
    now: float,
    told: Callable[[str], None] = lambda sentence: None,
) -> Revision | None:
    """Plant the fault of a step, if there is one that is not in the ledger.

    Where another process keeps the run's lock, or a knob file holds an edit that nobody has looked
    at, the fault is left out and that is told: it never harms the run.

    Args:
        faults: What the recipe plants, by name.
        paths: The run.
        worlds: Names of the run's worlds.
        step: The training step about to begin.
        now: Seconds since 1970.
        told: Takes a sentence about what was planted, or why it was not.
    """
    for name, fault in faults.items():
        if fault.step != step:
            continue
        try:
            made = plant(
                paths,
                fault.knobs,
                reason=f"planted {name}: {fault.reason}",
                worlds=worlds,
                step=step,
                now=now,
                timeout_s=PATIENCE_S,
            )
        except (files.LockBusy, knobs.Refused) as error:
            told(f"{name} was not planted at step {step}: {error}")
            return None
        if made is not None:
            told(f"{name} planted at step {step} (revision {made.number}): {fault.reason}")
        return made
    return None
