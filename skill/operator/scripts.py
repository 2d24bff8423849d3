"""Scripts: the operator acts by the same scripts as any agent, each in a process of its own.

What a script answers is JSON; one that says nothing readable is told with its last words.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "eau-meta-agent" / "scripts"
CHECKOUT = FOLDER.parents[2]
DEADLINE_S = 120.0
"""Seconds after which a script is given up."""


@dataclass(frozen=True)
class Answer:
    """How a script ended."""

    status: int
    """0 fine, 1 blocked, 2 misuse; 124 when it was given up."""
    value: dict[str, Any]
    """Its JSON; empty if it printed none."""
    said: str
    """What it said on stderr, cut."""


def ask(name: str, arguments: Sequence[str], *, text: str = "") -> Answer:
    """Run one script to its end.

    Args:
        name: As `propose`.
        arguments: Its arguments; `--json` is added.
        text: What it reads from stdin.
    """
    place = os.pathsep.join(filter(None, (os.fspath(CHECKOUT), os.environ.get("PYTHONPATH"))))
    try:
        ended = subprocess.run(
            [sys.executable, os.fspath(FOLDER / f"{name}.py"), *arguments, "--json"],
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=DEADLINE_S,
            check=False,
            env={**os.environ, "PYTHONPATH": place},
        )
    except subprocess.TimeoutExpired:
        return Answer(124, {}, f"{name} gave no answer in {DEADLINE_S:g} s")
    try:
        value = json.loads(ended.stdout)
    except ValueError:
        value = {}
    kept = value if isinstance(value, dict) else {}
    return Answer(ended.returncode, kept, ended.stderr.strip()[-1000:])
