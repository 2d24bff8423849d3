"""A candidate's `world.yaml` differs in its knobs alone: new ones, and values of old ones.

What is promised about a knob (its range, the direction that makes tasks harder, how far one write
may move it) is declared once, with it, and never edited afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gate.contract import world_declaration
from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Finding, Refused
from gate.contract.knobs import KnobSpec
from gate.contract.world_declaration import FILE, WorldDeclaration
from gate.rules import world_files
from gate.rules.change_set import ChangeSet, Move
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="A candidate's `world.yaml` differs in its knobs alone: a new one is declared with "
    "range, direction and step size, and of an old one only the value moves.",
    answers="NorthlandPositronics/Cogtrix PR#1411: a setting turns every guard off; "
    "EAU: max_steps raised at success below 0.80.",
    by_hand="silent",
)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for whatever else differs, and for every promise that was edited."""
    for change in change_set.worlds:
        if FILE not in change.edits:
            continue
        place = change.place(FILE)
        try:
            old, new = world_files.declared(change), _new(change)
        except Refused as refused:
            yield from (finding for finding in refused.findings if finding.file == place)
            continue
        for key in sorted({*old.values, *new.values} - {"knobs"}):
            if old.values.get(key) != new.values.get(key):
                message = f"{key} of {change.world} differs, and only its knobs may."
                step = f"Write {key} as it is in force."
                yield _finding(change_set, place, new, key, message, step)
        for name, spec in old.knobs.items():
            if name not in new.knobs:
                message = f"The knob {name} of {change.world} is gone."
                yield _finding(change_set, place, new, "knobs", message, "Declare it as before.")
            elif _promise(spec) != _promise(new.knobs[name]):
                message = f"What is promised about the knob {name} of {change.world} differs."
                step = "Move its default alone; declare another knob for another promise."
                yield _finding(change_set, place, new, name, message, step)


def moves(change: WorldChange) -> tuple[Move, ...]:
    """Return the values of a world's own knobs that a candidate moves; none if it cannot be read.

    A new knob moves nothing: its first value is what it is declared with.
    """
    if FILE not in change.edits:
        return ()
    try:
        old, new = world_files.declared(change), _new(change)
    except Refused:
        return ()
    return tuple(
        Move(spec.path, spec.path, change.world, spec, spec.default, new.knobs[name].default)
        for name, spec in old.knobs.items()
        if name in new.knobs and new.knobs[name].default != spec.default
    )


def _new(change: WorldChange) -> WorldDeclaration:
    return world_declaration.read(change.world, change.edits[FILE], file=change.place(FILE))


def _promise(spec: KnobSpec) -> dict[str, Any]:
    return {key: value for key, value in spec.schema.items() if key != "default"}


def _finding(
    change_set: ChangeSet,
    file: str,
    declaration: WorldDeclaration,
    key: str,
    message: str,
    next_step: str,
) -> Finding:
    place = declaration.positions.get(key)
    return change_set.file_finding("world-knobs", file, message, next_step, place=place)
