"""Names that a knob file may use: what a missing, unknown or misplaced one probably means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.contract.knobs import hints
from gate.contract.knobs.spec import FILES, WORLDS, keys, specs
from gate.contract.knobs.tree import Parts
from gate.contract.knobs.walk import Walk, shown


def missing(walk: Walk, declared: Mapping[str, Any], key: str, parts: Parts) -> None:
    """Refuse a document because a name it must have is not there."""
    where = walk.name(parts) if parts else f"{walk.file}.yaml"
    default = f"`{key}: {shown(declared['default'])}`" if "default" in declared else f"`{key}:`"
    words = "its default" if "default" in declared else "with a value"
    walk.refuse(
        (*parts, key),
        "missing",
        f"{where} lacks {key}.",
        f"Add {default} ({words}).",
    )


def unknown(walk: Walk, properties: Mapping[str, Any], key: Any, parts: Parts) -> None:
    """Refuse a name that a schema does not declare, and say which one was probably meant."""
    name = str(key)
    here = (*parts, name)
    if parts[:1] == (WORLDS,) and len(parts) == 2 and name in keys(walk.file):
        walk.refuse(
            here,
            "one-for-all-worlds",
            f"{walk.file}.{name} cannot differ between worlds"
            + (", which share one policy." if walk.file == "agent" else "."),
            f"Remove it here and set {name} at the top of {walk.file}.yaml.",
            value=name,
            limit=list(properties),
            at_key=True,
        )
        return
    homes = [other for other in FILES if f"{other}.{name}" in specs() and other != walk.file]
    near = hints.nearest(name, properties)
    if near is not None:
        next_step = f"Did you mean {near}?"
    elif homes and not parts:
        next_step = f"It belongs in {homes[0]}.yaml: move it there."
    else:
        known = f"The names are {', '.join(properties)}." if properties else "Remove it."
        next_step = hints.odd(name) or known
    walk.refuse(
        here,
        "unknown",
        f"{walk.name(parts) if parts else f'{walk.file}.yaml'} has no knob or part named {name}.",
        next_step,
        value=name,
        limit=list(properties),
        at_key=True,
    )


def is_world(walk: Walk, key: Any, parts: Parts) -> bool:
    """Return whether a key names a world of the run; refuse it otherwise."""
    if key in walk.worlds:
        return True
    names = ", ".join(sorted(walk.worlds)) or "none"
    near = hints.nearest(str(key), walk.worlds)
    walk.refuse(
        (*parts, str(key)),
        "unknown-world",
        f"{walk.name(parts)} names the world {shown(key)}; the run's worlds are: {names}.",
        f"Did you mean {near}?" if near else "Use one of them, or remove the entry.",
        value=key,
        limit=sorted(walk.worlds),
        at_key=True,
    )
    return False
