"""Twins: two child runs from one exact checkpoint, told apart by one proposal's values alone.

Both play the same tasks with the same seeds from the same weights, so that what they show
differs by the proposal and by chance alone. They are no attempts of their experiment: their
launch records repeat their parent's. What they show is judged by the gate and told on the
parent's ledger.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from gate.contract import files
from gate.contract.knobs import Knobs
from gate.contract.paths import RunPaths
from gate.guard import twins as judging
from gate.guard.twins import Pair
from trainer import checkpoint, run_folder
from trainer.errors import Unusable

SIDES = ("old", "new")


class TwinError(Unusable):
    """Twins that cannot be made; the message says what to change."""


class Born(NamedTuple):
    """Two twins that are ready to train."""

    old: RunPaths
    new: RunPaths
    first: int
    """The first training step of their own."""


def bear(parent: RunPaths, pair: Pair, *, steps: int, now: float) -> Born:
    """Make the folders of both twins, each ready to be resumed.

    Args:
        parent: The run; nothing of it is written.
        pair: What the twins differ in.
        steps: Training steps of each.
        now: Seconds since 1970.

    Raises:
        TwinError: if twins of that name are there, or the steps are too few for the lag.
        checkpoint.CheckpointError: if the parent has no whole checkpoint.
    """
    least = pair.change.lag + judging.SHORTEST_WINDOW
    if steps < least:
        raise TwinError(
            f"{steps} steps show nothing: an effect is expected after {pair.change.lag}, and "
            f"{judging.SHORTEST_WINDOW} must be measured; give them {least} or more"
        )
    found = checkpoint.newest(parent.checkpoints)
    roots = [parent.root.with_name(f"{parent.root.name}-twin-{side}") for side in SIDES]
    for root in roots:
        if root.exists():
            raise TwinError(f"{root} is there already; move it away to make twins anew")
    first = found.snapshot.step + 1
    for root, values in zip(roots, (pair.change.old, pair.change.new), strict=True):
        _bear_one(parent, RunPaths(root), pair, values, found.directory, first, steps, now)
    return Born(RunPaths(roots[0]), RunPaths(roots[1]), first)


def _bear_one(
    parent: RunPaths,
    child: RunPaths,
    pair: Pair,
    values: Knobs,
    directory: Path,
    first: int,
    steps: int,
    now: float,
) -> None:
    # Under another name until it is whole: a folder without its launch record is no run.
    for folder in (
        child.episodes,
        child.candidate,
        child.proposals,
        child.experiments,
        child.knobs,
    ):
        folder.mkdir(parents=True)
    shutil.copytree(parent.world, child.world)
    for name in {parent.checkpoint(0).name, directory.name}:
        shutil.copytree(parent.checkpoints / name, child.checkpoints / name)
    revision = judging.launch(child, pair, values, step=first, now=now)
    for record in files.read_lines(parent.steps).records:
        if record["step"] < first:
            files.append_line(child.steps, judging.as_one_revision(record, revision))
    record = run_folder.read_record(parent)
    record["run"] = child.root.name
    # Whatever folder the parent watches: twins have their own files, which nobody edits.
    record["knobs"] = None
    record["config"] = {
        **record["config"],
        "total_steps": first - 1 + steps,
        "meta_agent": None,
        "plant": {},
    }
    files.write_whole(child.launch, _yaml(record))


def _yaml(values: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.dump(values, stream)
    return stream.getvalue()
