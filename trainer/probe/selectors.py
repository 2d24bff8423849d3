"""Names in the knobs that must resolve to something: worlds of the run, and events they declare.

A key that resolves to nothing does silently not what it says, so it is an error. Read from the
knobs and the declarations alone; nothing is played.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gate.contract import knobs
from gate.contract.findings import Finding
from gate.contract.knobs import Knobs
from trainer.probe.outcome import finding
from trainer.worlds.declaration import WorldDeclaration

NAME = "coverage"
"""These findings belong to the check of that name."""

BY_WORLD = ("environment.task_mix", "environment.per_world_scale")
"""Knobs whose keys are worlds."""


def unresolved(
    values: Knobs, worlds: Sequence[str], declared: Mapping[str, WorldDeclaration]
) -> Iterator[Finding]:
    """Yield a finding for every name that resolves to nothing.

    Args:
        values: The candidate's knobs.
        worlds: Every world of the run.
        declared: What the worlds declare, as far as it could be read.
    """
    for path, name in _named_worlds(values):
        if name not in worlds:
            yield _finding(path, name, "is no world of the run", worlds)
    for path, world, event in _named_events(values):
        hosts = [name for name in worlds if world in (None, name)]
        events = {event for name in hosts if name in declared for event in declared[name].events}
        # Where a declaration cannot be read, that is told already, and nothing is known here.
        if set(hosts) <= declared.keys() and hosts and event not in events:
            yield _finding(path, event, "is an event that no world declares", sorted(events))


def _named_worlds(values: Knobs) -> Iterator[tuple[str, str]]:
    for file in knobs.FILES:
        for name in values.values[file][knobs.WORLDS]:
            yield f"{file}.{knobs.WORLDS}", name
    for path in BY_WORLD:
        for name in values.get(path) or {}:
            yield path, name
    for path, _, rule in _rules(values):
        if "world" in (rule.get("where") or {}):
            yield f"{path}.where.world", str(rule["where"]["world"])


def _named_events(values: Knobs) -> Iterator[tuple[str, str | None, str]]:
    for path, world, rule in _rules(values):
        yield f"{path}.event", (rule.get("where") or {}).get("world", world), str(rule["event"])


def _rules(values: Knobs) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    """Yield every shaping rule with its path, and the world whose own it is."""
    reward = values.values["reward"]
    own = {world: entry.get("shaping", ()) for world, entry in reward[knobs.WORLDS].items()}
    for world, shaping in {None: reward["shaping"], **own}.items():
        for rule in shaping:
            yield f"reward.shaping.{rule['id']}", world, rule


def _finding(path: str, name: str, what: str, known: Sequence[str]) -> Finding:
    return finding(
        NAME,
        f"{path}: {name[:64]!r} {what}; there are {', '.join(known[:12])}.",
        "Write one of these names, exactly.",
        path=path,
        value=name[:64],
        limit=list(known),
    )
