"""A small world as bytes, with which rules about worlds are tried; nothing ever plays it."""

from __future__ import annotations

from types import MappingProxyType

from gate.contract.candidate_world import WorldChange

NAME = "travel"

DECLARATION = """\
name: travel
turn_limit: 16
success_metric: solved
metrics: {solved: 1 when the task was solved.}
events: {search_ok: A search returned options.}
editable: [env.py, verifier.py, wording.py, user.yaml, personas/]
knobs:
  patience:
    description: Turns for which the traveller waits.
    type: integer
    minimum: 1
    maximum: 8
    default: 4
    x-scope: world
    x-harder: down
    x-max-step: {kind: linear, size: 2}
    x-lag-steps: 0
    x-proximal: agent_turns
    x-distal: success
"""

RULES = """\
version: 1
rules:
  - id: reveal
    when: {act: [ask, both], match: [open]}
    do: reveal
    say: ["{facts}"]
"""

FILES = MappingProxyType(
    {
        "world.yaml": DECLARATION.encode(),
        "env.py": b"from . import verifier, wording\n\nmake = verifier.make\n",
        "verifier.py": b"import math\n\nfrom .grading import grade\n\nmake = math.floor\n",
        "grading.py": b"import csv\n\ngrade = csv.reader\n",
        "wording.py": b'OPENING = "Plan my trip."\n',
        "loader.py": b"from pathlib import Path\n",
        "user.yaml": RULES.encode(),
    }
)
"""Every file of it, by its path within."""


def edited(path: str, content: str | bytes) -> WorldChange:
    """Return the change that brings one other file."""
    new = content.encode() if isinstance(content, str) else content
    return WorldChange(NAME, FILES, {path: new})


def declared(old: str, new: str) -> WorldChange:
    """Return the change that brings another `world.yaml`, with one part of it replaced."""
    return edited("world.yaml", DECLARATION.replace(old, new))
