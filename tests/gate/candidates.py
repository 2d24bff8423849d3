"""Runs whose worlds can be edited, candidates put into them, and looks of a guard at them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gate import sample_world
from gate.contract import world_folder
from gate.contract.paths import RunPaths
from gate.guard import Guard, KnobStatus
from tests import live_run, proposed
from tests.gate.test_leash import until

WORDING = 'OPENING = "Where to?"\n'
"""Another content of one file of the sample world."""


def launch(root: Path) -> RunPaths:
    """Make a run with two small worlds, forty steps on record and a launch record."""
    run = live_run.launch(root)
    for world in live_run.WORLDS:
        for path, content in sample_world.FILES.items():
            text = content.replace(b"name: travel", f"name: {world}".encode())
            (run.world / "0000" / world / path).write_bytes(text)
    run.proposals.mkdir()
    proposed.log_steps(run, 40)
    proposed.record_launch(run)
    launched = world_folder.folder_digest(run.world / "0000")
    record = run.launch.read_text()
    run.launch.write_text(
        record.replace("protected:\n", f'protected:\n  world/0000: "{launched}"\n')
    )
    return run


def edit(run: RunPaths, path: str, content: str | bytes = WORDING, world: str = "travel") -> Path:
    """Put a file into the candidate."""
    place = run.candidate / "world" / world / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def propose(run: RunPaths, **fields: Any) -> int:
    return proposed.submit(run, **{"changes": None, "world": True, **fields})


def look(guard: Guard, step: int = 41) -> KnobStatus:
    return guard.reconcile(step, success_history=[0.5] * 20, now=float(step))


def decided(guard: Guard, step: int = 41) -> KnobStatus:
    """Look until the proposals are decided about."""
    found: list[KnobStatus] = []

    def done() -> bool:
        found.append(look(guard, step))
        return not found[-1].waiting

    until(done)
    return replace(found[-1], proposals=tuple(one for status in found for one in status.proposals))


def rules_of(status: KnobStatus) -> list[str]:
    return [finding.rule for outcome in status.proposals for finding in outcome.findings]
