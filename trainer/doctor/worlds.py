"""What the recipe plays: worlds, tasks, players, starting knobs, and what a world can reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gate.contract.findings import Refused
from trainer import launch, preflight
from trainer.doctor.finding import Finding, Level, Patient
from trainer.errors import Unusable
from trainer.recipe import RunConfig, WorldConfig
from trainer.worlds import catalog
from trainer.worlds.declaration import read_declaration


def recipe(patient: Patient) -> Iterator[Finding]:
    """Check that the recipe's values fit together and what it names is there."""
    if patient.config is None:
        return
    found = list(preflight.faults(patient.config))
    yield from (Finding("recipe", Level.FAULT, fault) for fault in found)
    if not found:
        yield Finding("recipe", Level.OK, f"{patient.config.name}: its values fit together")


def tasks(patient: Patient) -> Iterator[Finding]:
    """Check that every world has tasks to train on and to be evaluated on."""
    if patient.config is None:
        return
    for world in patient.config.worlds:
        alone = {world: patient.config.worlds[world]}
        for split in ("train", "evaluation"):
            yield _tasks(patient.config, alone, split)
    for world, setting in patient.config.held_out.items():
        yield _tasks(patient.config, {world: setting}, "evaluation")


def _tasks(config: RunConfig, worlds: Mapping[str, WorldConfig], split: str) -> Finding:
    name = next(iter(worlds))
    try:
        loaded = launch.load_tasks(replace(config, worlds=worlds), split)[name]
    except Unusable as error:
        return Finding("tasks", Level.FAULT, str(error))
    told = f"{name}: {len(loaded)} {split} tasks, {loaded[0].provenance}"
    return Finding("tasks", Level.OK, told)


def judge(patient: Patient) -> Iterator[Finding]:
    """Say who decides what the recipe's worlds leave to a judge."""
    if patient.config is None:
        return
    settings = patient.config.judge
    asked = settings.kind == "endpoint"
    for world in sorted(catalog.judged(patient.config.worlds)):
        declared = read_declaration(catalog.world(world).folder).judge
        what = declared.asks if declared else ""
        who = f"judge.endpoint decides, {settings.endpoint.model!r}"
        told = who if asked else "its rules decide; with judge.kind endpoint a model would"
        yield Finding("judge", Level.OK, f"{world}: {told}: {what}")


def knobs(patient: Patient) -> Iterator[Finding]:
    """Check that the starting knobs, with the recipe's over them, are acceptable."""
    if patient.config is None:
        return
    try:
        launch.starting_values(patient.config, patient.knobs)
    except Refused as refused:
        for finding in refused.findings:
            yield Finding("knobs", Level.FAULT, str(finding))
        return
    except Unusable as error:
        yield Finding("knobs", Level.FAULT, str(error))
        return
    yield Finding("knobs", Level.OK, f"the starting knobs at {patient.knobs} are acceptable")
