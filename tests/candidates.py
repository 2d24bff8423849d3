"""Candidates to probe: copies of worlds with a few words changed, and requests about them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate.contract import knobs
from gate.contract.findings import Finding, Severity
from trainer.probe import request as requests
from trainer.probe.checks import CHECKS
from trainer.probe.report import Report
from trainer.probe.request import Request
from trainer.probe.run import probe
from trainer.probe.staging import MakeUser, symbolic
from trainer.worlds import catalog

LEFT_BEHIND = shutil.ignore_patterns("oracle.py", "gold", "tasks", "evaluation", "__pycache__")


def world_root(
    folder: Path, world: str, edits: Mapping[str, Mapping[str, str]] | None = None
) -> Path:
    """Make a folder that holds one world as a run does, with pieces of its files replaced.

    Args:
        folder: Where to make it; it must not exist.
        world: A world of the catalog.
        edits: By file, old text -> new text; an old text must be there.
    """
    shutil.copytree(catalog.world(world).folder, folder / world, ignore=LEFT_BEHIND)
    for name, pieces in (edits or {}).items():
        path = folder / world / name
        text = path.read_text(encoding="utf-8")
        for old, new in pieces.items():
            assert old in text, f"{name} of {world} holds no {old!r}"
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    return folder


def values(new: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the default knobs with some values changed, by path, as JSON."""
    changes = [knobs.KnobChange(path, None, value) for path, value in (new or {}).items()]
    return knobs.apply(knobs.defaults(), changes).to_json()


def body(
    tmp_path: Path,
    world: str,
    *,
    edits: Mapping[str, Mapping[str, str]] | None = None,
    new: Mapping[str, Any] | None = None,
    old: Mapping[str, Any] | None = None,
    old_edits: Mapping[str, Mapping[str, str]] | None = None,
    alone: bool = False,
    **fields: Any,
) -> dict[str, Any]:
    """Return the JSON of a request about one changed world or some changed knobs.

    Args:
        tmp_path: Where the two sides are made.
        world: A world of the catalog.
        edits: What the candidate changes in its files (see `world_root`).
        new: What it changes in the default knobs, by path.
        old: What is in force of the knobs.
        old_edits: What is in force of the files.
        alone: Whether the candidate is held against nothing.
        fields: Further fields of the request.
    """
    before, after = tmp_path / "world" / "0000", tmp_path / "world" / "staged"
    in_force = {"world_root": str(world_root(before, world, old_edits)), "knobs": values(old)}
    return {
        "old": None if alone else in_force,
        "new": {"world_root": str(world_root(after, world, edits)), "knobs": values(new)},
        "worlds": [world],
        "tasks": 4,
        "seed": 7,
        **fields,
    }


def request(tmp_path: Path, world: str, **fields: Any) -> Request:
    """Return a request (see `body`)."""
    return requests.from_values(body(tmp_path, world, **fields))


def command(path: Path, content: Mapping[str, Any], checkout: Path) -> subprocess.CompletedProcess:
    """Run `python -m trainer probe` on a request, as the gate does."""
    path.write_text(json.dumps(content))
    return subprocess.run(
        [sys.executable, "-m", "trainer", "probe", str(path)],
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def probed(asked: Request, *checks: str, make_user: MakeUser = symbolic) -> Report:
    """Return what the named checks find, or all of them."""
    chosen = {name: CHECKS[name] for name in checks} or CHECKS
    return probe(asked, checks=chosen, make_user=make_user)


def errors(report: Report, check: str | None = None) -> list[Finding]:
    """Return what stands against a candidate, of one check if named."""
    return [
        one
        for one in report.findings
        if one.severity is Severity.ERROR and check in (None, one.rule.removeprefix("probe."))
    ]


def refusing_rules(report: Report) -> set[str]:
    """Return the names of the checks that stand against a candidate."""
    return {one.rule.removeprefix("probe.") for one in errors(report)}
