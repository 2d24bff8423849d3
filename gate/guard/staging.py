"""Staging: what a proposal would put in force, whole and as bytes, and what is asked about it.

The bytes are read once: what the rules saw is what is probed, and what was probed is what comes
into force.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gate.contract import candidate_world, knobs, world_folder
from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import KnobChange, Knobs, Scope
from gate.contract.paths import RunPaths
from gate.contract.proposals import Proposal
from gate.guard import intact, probing, way_back
from gate.guard.history import History
from gate.guard.probing import Question

PROBED_FILES = frozenset({"user", "reward"})
"""Knob files whose every knob changes what happens in a dialogue, or what is paid for it."""


@dataclass(frozen=True)
class Worlds:
    """What a proposal does to the worlds."""

    changes: tuple[WorldChange, ...] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    """Every file of the whole new folder by its path within; empty if no file changes."""
    older: int | None = None
    """The older folder that comes back with a revision that is taken back."""

    @property
    def moved(self) -> bool:
        """Whether other worlds would be in force."""
        return bool(self.changes) or self.older is not None

    @property
    def names(self) -> list[str]:
        """The worlds of which files change."""
        return [change.world for change in self.changes]


def read(run: RunPaths, past: History, proposal: Proposal, worlds: Sequence[str]) -> Worlds:
    """Return what a proposal does to the worlds in force.

    Args:
        run: The run.
        past: Its ledger.
        proposal: What asks for it.
        worlds: Names of the run's worlds.

    Raises:
        Refused: if a file of the candidate or of the worlds in force is not to be read, the
            worlds in force were edited in place, or a revision cannot be taken back.
    """
    if proposal.reverts is not None:
        return Worlds(older=way_back.world(past, proposal.reverts))
    if proposal.worlds is None:
        return Worlds()
    edited = intact.check(run, past)
    if edited:
        raise Refused(edited)
    number = past.world(past.newest)
    changes = candidate_world.read(run, number, wanted=proposal.worlds, worlds=worlds)
    if not changes:
        return Worlds()
    whole = world_folder.read_all(run.world_revision(number), worlds, told=f"world/{number:04d}")
    for change in changes:
        whole |= {f"{change.world}/{path}": content for path, content in change.edits.items()}
    return Worlds(changes, whole)


def files_of(worlds: Worlds, number: int) -> dict[str, bytes]:
    """Return the files of a new folder of worlds by their paths within the run.

    Args:
        worlds: What a proposal does to them.
        number: The number of the revision, and so of the folder.
    """
    return {f"world/{number:04d}/{path}": content for path, content in worlds.contents.items()}


def question(
    run: RunPaths,
    past: History,
    proposal: Proposal,
    new: Knobs,
    changes: Sequence[KnobChange],
    worlds: Worlds,
    *,
    names: Sequence[str],
) -> Question | None:
    """Return what a probe is to be asked about a proposal; None if it changes no dialogue.

    Args:
        run: The run.
        past: Its ledger.
        proposal: What asks for it.
        new: All knobs as they would be in force.
        changes: What moves among them.
        worlds: What it does to the worlds.
        names: Names of the run's worlds.
    """
    everywhere = any(map(_is_probed, changes))
    tried = sorted(names) if everywhere else worlds.names
    if not tried or proposal.reverts is not None:
        return None
    root = os.fspath(run.world_revision(past.world(past.newest)).resolve())
    old = past.knobs_by_revision[past.newest]
    request: dict[str, Any] = {
        "run": os.fspath(run.root.resolve()),
        "old": {"world_root": root, "knobs": old.to_json()},
        "new": {"world_root": root, "knobs": new.to_json()},
        "worlds": tried,
        "tasks": probing.TASKS,
        "seed": proposal.number,
        "seconds": probing.SECONDS,
        "false_verdicts": proposal.to_json().get("false_verdicts", []),
        "max_episodes": probing.EPISODES,
    }
    return Question(proposal.number, request, worlds.contents)


def unprobed(number: int) -> Finding:
    """Return why a proposal that must be probed cannot be decided where nothing probes."""
    message = f"Proposal {number} changes a world, and nothing probes it here."
    step = f"Let a running trainer take it up, or run `gate apply RUN {number}`."
    return Finding("probe.none", Severity.ERROR, message, step)


def _is_probed(change: KnobChange) -> bool:
    spec = knobs.specs()[change.knob]
    return spec.file in PROBED_FILES or spec.scope in (Scope.ROLLOUT, Scope.WORLD)
