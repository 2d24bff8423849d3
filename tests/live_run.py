"""A launched run in a temporary directory, and edits of its knob files as an editor makes them."""

from __future__ import annotations

import json
from pathlib import Path

from gate.contract import files, knobs, revisions
from gate.contract.ledger import Author
from gate.contract.paths import RunPaths

WORLDS = ("travel", "intention")


def starting_files() -> dict[str, bytes]:
    """Return the four knob files with every knob at its default, by path within a run."""
    return {f"knobs/{name}.yaml": knobs.render_defaults(name) for name in knobs.FILES}


def launch(root: Path) -> RunPaths:
    """Make a run whose knobs are the defaults."""
    run = RunPaths(root)
    root.mkdir(parents=True, exist_ok=True)
    for world in WORLDS:
        (run.world / "0000" / world).mkdir(parents=True)
    revisions.launch(
        run, starting_files(), knobs.defaults(), author=Author.PERSON, reason="a test", now=0.0
    )
    return run


def with_value(content: bytes, key: str, value: object) -> bytes:
    """Return a knob file's bytes with another value for one of its top-level keys."""
    lines = content.decode().splitlines()
    found = [number for number, line in enumerate(lines) if line.startswith(f"{key}:")]
    assert len(found) == 1, f"{key} should stand there once"
    lines[found[0]] = f"{key}: {json.dumps(value)}"
    return ("\n".join(lines) + "\n").encode()


def save(run: RunPaths, path: str, value: object) -> bytes:
    """Change one knob in its file, in place, as an editor does; returns the file's new bytes."""
    name, _, key = path.partition(".")
    file = run.knob_file(name)
    content = with_value(file.read_bytes(), key, value)
    file.write_bytes(content)
    return content


def log_success(run: RunPaths, success: float | None, *, steps: int) -> None:
    """Append step records with the part that the gate reads."""
    done = len(files.read_lines(run.steps).records)
    for step in range(done + 1, done + steps + 1):
        files.append_line(run.steps, {"step": step, "success": success})
