"""Words that betray evaluation data: ids of its tasks, its canaries, the places it lies in.

Training must not know them, so whatever repeats one has seen what it must not see. This module
reads the evaluation tasks of the checkout and tells the words, to nobody but the rules.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import cache
from pathlib import Path

from gate.contract import files
from gate.contract.protected import CHECKOUT

ROOT_VARIABLE = "EAU_EVAL_ROOT"
"""The environment variable that names where evaluation output goes."""

SHORTEST = 5
"""Characters of a word that can betray something; a task with the id 12 is in every text."""

_NAMING = ("id", "canary")


def words(worlds: Collection[str], checkout: Path = CHECKOUT) -> frozenset[str]:
    """Return every such word in lower case.

    Args:
        worlds: Names of the run's worlds.
        checkout: Where the worlds' evaluation folders lie.
    """
    found = {ROOT_VARIABLE.lower()}
    if place := os.environ.get(ROOT_VARIABLE):
        found.add(place.rstrip("/").lower())
    for world in worlds:
        found |= _of_world(checkout, world)
    return frozenset(found)


@cache
def _of_world(checkout: Path, world: str) -> frozenset[str]:
    folder = checkout / "trainer" / "worlds" / world / "evaluation"
    found = {f"{world}/evaluation".lower()}
    for path in sorted(folder.glob("*.jsonl")):
        # Inside a fence the tasks may not be read, and their words stay unknown there. The
        # trainer's gate, which stands outside, looks for them when it decides.
        if not os.access(path, os.R_OK):
            continue
        for record in files.read_lines(path).records:
            found |= {str(record[key]).lower() for key in _NAMING if key in record}
    return frozenset(word for word in found if len(word) >= SHORTEST)
