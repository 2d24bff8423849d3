"""Why a step was as it was: what was in force, who put it there, and what went wrong in it.

An account of one training step from the records alone. It states what is on file and leaves the
conclusion to whoever reads; how it looks on a terminal belongs to `trainer.looking.account`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gate.contract import knobs
from gate.contract.ledger import Revision
from gate.contract.records import told
from gate.contract.sides import Side
from trainer.errors import Unusable
from trainer.looking import trials, world_edits
from trainer.looking.origin import Origin, origin
from trainer.looking.reading import Reading, Record, mapping, number
from trainer.looking.success import Share, shares
from trainer.looking.tidings import TROUBLE
from trainer.looking.trials import Trial
from trainer.looking.world_edits import FileEdit

RATES = ("actor_lr", "critic_lr")
"""The knobs of `agent.yaml` that an optimizer may follow by a schedule of its own."""

INCIDENTS = (TROUBLE - {"fault_planted"}) | {"engine_restart", "run_resumed"}
"""Kinds of events that something went wrong with, as `docs/records.md` has them."""


class NoSuchStep(Unusable):
    """A step that is not on record; the message says which are."""


@dataclass(frozen=True)
class SideInForce:
    """What one part of a step's batch was played under."""

    side: str = told("in_force, old, new or anchor.")
    revision: int | None = told("Its revision; null where an old record does not tell.")
    world_revision: int | None = told("The folder `world/NNNN` that it was played in.")
    started: int = told("Episodes started.", unit="episodes")
    quarantined: int = told("Episodes that the infrastructure spoiled.", unit="episodes")


@dataclass(frozen=True)
class KnobInForce:
    """One knob that is not what the run was launched with."""

    path: str = told("The knob, as `user.max_reveals`.")
    launch: Any = told("Its value at the launch; null where an override began later.")
    value: Any = told("Its value in the step; null where an override ended.")
    since: int = told("The first step under it.")
    revision: int = told("The revision that put it there; see `origins`.")


@dataclass(frozen=True)
class Rate:
    """One learning rate: what the knob asks for and what the optimizer used."""

    name: str = told("actor_lr or critic_lr.")
    requested: float | None = told("The knob's value in the step.")
    used: float | None = told("What the optimizer really used; null without an update.")


@dataclass(frozen=True)
class Incident:
    """Something that went wrong in the step."""

    kind: str = told("Kind of the event (docs/records.md).")
    count: int = told("How many events of that kind the step has.")
    first: Mapping[str, Any] = told("What the first of them says.")


@dataclass(frozen=True)
class Account:
    """What `eau why RUN STEP --json` prints."""

    run: str = told("Id of the run.")
    step: int = told("The training step.")
    last_step: int = told("The newest step on record.")
    revision: int = told("The revision in force; the new side, while a test splits the batch.")
    world_revision: int = told("The folder `world/NNNN` in force.")
    sides: tuple[SideInForce, ...] = told("What each part of the batch was played under.")
    success: tuple[Share, ...] = told("Success with its interval, by side and arm.")
    knobs: tuple[KnobInForce, ...] = told("Every knob that differs from the launch.")
    origins: tuple[Origin, ...] = told(
        "Where the revision in force, the knobs that differ and the worlds come from, oldest first."
    )
    tests: tuple[Trial, ...] = told("The tests open in the step.")
    rates: tuple[Rate, ...] = told("Learning rates, requested and used.")
    world: tuple[FileEdit, ...] = told("Files of the worlds that differ from the launch.")
    incidents: tuple[Incident, ...] = told("What went wrong in the step, by kind.")
    damage: tuple[str, ...] = told("What is wrong with the records, each in a sentence.")


def account(reading: Reading, step: int) -> Account:
    """Return the account of one step.

    Args:
        reading: The run.
        step: Its number.

    Raises:
        NoSuchStep: if the step is not on record.
    """
    record = reading.step(step)
    last = reading.steps[-1]["step"] if reading.steps else 0
    if record is None:
        known = f"{reading.steps[0]['step']} to {last}" if reading.steps else "none yet"
        raise NoSuchStep(f"no step {step} in {reading.run}; on record: {known}")
    revision, world = int(record.get("revision") or 0), int(record.get("world_revision") or 0)
    differing = tuple(in_force(reading, revision))
    wanted = {revision, *(one.revision for one in differing)}
    wanted |= {one.number for one in _of_worlds(reading, revision) if world}
    origins = (reading.revision(number) for number in sorted(wanted))
    return Account(
        run=reading.run,
        step=step,
        last_step=last,
        revision=revision,
        world_revision=world,
        sides=tuple(_sides(record, revision, world)),
        success=shares(record),
        knobs=differing,
        origins=tuple(origin(one) for one in origins if one is not None),
        tests=trials.open_at(reading, step),
        rates=tuple(_rates(reading, record, revision)),
        world=world_edits.between(reading.paths, 0, world),
        incidents=incidents(reading, step),
        damage=reading.damage,
    )


def in_force(reading: Reading, revision: int) -> Iterator[KnobInForce]:
    """Yield the knobs that differ from the launch under a revision, in the order of the files."""
    past = reading.past
    if past is None or revision not in past.knobs_by_revision:
        return
    put: dict[str, Revision] = {}
    for one in past.revisions:
        if one.number <= revision:
            put |= {change.path: one for change in one.changes}
    launch, now = past.knobs_by_revision[0], past.knobs_by_revision[revision]
    for change in knobs.diff(launch, now):
        by = put[change.path]
        sides = change.to_json()
        yield KnobInForce(change.path, sides.get("old"), sides.get("new"), by.step, by.number)


def incidents(reading: Reading, step: int) -> tuple[Incident, ...]:
    """Return what went wrong in a step, by kind, in the order in which it began."""
    found: dict[str, list[Record]] = {}
    for event in reading.events:
        if event.get("step") == step and event["kind"] in INCIDENTS:
            found.setdefault(event["kind"], []).append(mapping(event.get("detail")))
    return tuple(Incident(kind, len(details), details[0]) for kind, details in found.items())


def _sides(record: Record, revision: int, world: int) -> Iterator[SideInForce]:
    sides = mapping(record.get("by_side"))
    order = [side for side in Side if side.value in sides]
    for side in order:
        one = mapping(sides[side.value])
        yield SideInForce(
            side.value,
            one.get("revision"),
            one.get("world_revision"),
            int(number(one.get("started")) or 0),
            int(number(one.get("quarantined")) or 0),
        )
    if not order:
        counts = (int(number(record.get(name)) or 0) for name in ("started", "quarantined"))
        yield SideInForce(Side.IN_FORCE.value, revision, world, *counts)


def _rates(reading: Reading, record: Record, revision: int) -> Iterator[Rate]:
    past, learner = reading.past, mapping(record.get("learner"))
    values = past.knobs_by_revision.get(revision) if past is not None else None
    for name in RATES:
        requested = None if values is None else number(values.get(f"agent.{name}"))
        if requested is not None or name in learner:
            yield Rate(name, requested, number(learner.get(name)))


def _of_worlds(reading: Reading, revision: int) -> Iterator[Revision]:
    """Yield the revisions by which the worlds under a revision came about."""
    known = reading.past.revisions if reading.past is not None else ()
    for before, one in itertools.pairwise(known):
        if one.world != before.world and one.number <= revision:
            yield one
