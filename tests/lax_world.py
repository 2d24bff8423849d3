"""Worlds that flatter: the ones in force, with a verifier that calls everything a success."""

from __future__ import annotations

from pathlib import Path

from gate.contract import revisions
from gate.contract.ledger import Author, Revision, RevisionKind
from gate.contract.paths import RunPaths

LAX = """

_strict = verdict


def verdict(task, state):
    return replace(_strict(task, state), success=1.0)
"""
"""Added to a verifier, judged and recorded dialogues alike are successes."""


def contents(run: RunPaths, number: int) -> dict[str, bytes]:
    """Return the files of a whole new folder of worlds, by path within the run."""
    launched = run.world_revision(0)
    files = [path for path in sorted(launched.rglob("*")) if path.is_file()]
    return {
        f"world/{number:04d}/{path.relative_to(launched).as_posix()}": _lax(path)
        for path in files
        if "__pycache__" not in path.parts
    }


def bring(run: RunPaths, *, step: int, number: int = 1) -> Revision:
    """Bring such worlds into force as a revision of that number."""
    return revisions.commit(
        run,
        contents(run, number),
        author=Author.PERSON,
        reason="a planted flatterer",
        kind=RevisionKind.COMMAND,
        changes=(),
        step=step,
        now=float(step),
        world=number,
    )


def _lax(path: Path) -> bytes:
    content = path.read_bytes()
    return content + LAX.encode() if path.name == "verifier.py" else content
