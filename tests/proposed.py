"""Proposals as somebody writes them, put into a launched run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gate.contract import files, launch_record, proposals, protected
from gate.contract.paths import RunPaths

ABOUT: dict[str, Any] = {
    "why": "users repeat themselves",
    "evidence": {"steps": [1]},
    "changes": {"user.max_reveals": 3},
    "expected": {"metric": "success", "direction": "up", "size": 0.05},
    "window": 20,
    "author": "operator",
}
"""A proposal that every rule lets pass in a run with one step on record."""


def content(**fields: Any) -> bytes:
    """Return a proposal's bytes: `ABOUT` with other fields; None leaves one out."""
    values = {key: value for key, value in {**ABOUT, **fields}.items() if value is not None}
    lines = [f"{key}: {json.dumps(value)}" for key, value in values.items()]
    return "\n".join([*lines, proposals.END, ""]).encode()


def submit(run: RunPaths, **fields: Any) -> int:
    """Submit `ABOUT` with other fields; returns its number."""
    return proposals.submit(run, content(**fields))


def log_steps(run: RunPaths, steps: int, success: float = 0.5) -> None:
    """Put steps on record, each with one episode such as `000012-00`."""
    run.episodes.mkdir(exist_ok=True)
    done = len(files.read_lines(run.steps).records)
    for step in range(done + 1, done + steps + 1):
        files.append_line(run.steps, {"step": step, "success": success, "anchor_success": success})
        files.append_line(run.episodes_of(step), {"id": f"{step:06d}-00"})


def record_launch(
    run: RunPaths,
    *,
    parent: str | None = None,
    attempt: int = 1,
    checkout: Path = protected.CHECKOUT,
) -> None:
    """Write the launch record as far as the gate reads it."""
    found = protected.digests(checkout)
    digests = "".join(f"  {path}: {digest}\n" for path, digest in found.items())
    named = "null" if parent is None else parent
    run.launch.write_text(
        f"run: {run.root.name}\nparent: {named}\nattempt: {attempt}\nprotected:\n{digests}"
        "config:\n  name: test\n"
    )
    assert launch_record.read(run.root).attempt == attempt
