"""A run so small that ten steps take seconds: its recipe, copies of it, and what it left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gate.contract import files, knobs, records
from gate.contract.paths import RunPaths
from gate.contract.records import StepRecord

RECIPE = """\
name: tiny
total_steps: 10
policy:
  size: {vocab_size: 320, hidden: 32, layers: 1, heads: 2, kv_heads: 1, head_dim: 16, ffn: 64,
         max_positions: 512}
  warm_start: {episodes: 30, piece_steps: 1, steps: 2, tokens_per_batch: 1024}
worlds:
  travel: {tasks: "small-*"}
rollout: {dialogues_per_step: 4, max_new_tokens: 12, context_tokens: 400}
learner: {lr_schedule: cosine, lr_decay_steps: 12, minibatch_dialogues: 2}
checkpoint: {every: 3, keep: 3, min_free_mb: 0}
knobs:
  agent: {actor_lr: 0.0001, critic_lr: 0.001, entropy_coeff: 0.01}
  environment: {max_steps: 4}
  reward: {shaping: [{id: chat, event: off_topic, value: -0.05}]}
"""
"""Two optimizer steps a rollout and a cosine: a schedule that is lost or doubled shows."""


def write_recipe(folder: Path) -> Path:
    """Write the recipe, and beside it a starting set of default knobs."""
    (folder / "knobs").mkdir(parents=True)
    for name in knobs.FILES:
        (folder / "knobs" / f"{name}.yaml").write_bytes(knobs.render_defaults(name))
    path = folder / "tiny.yaml"
    path.write_text(RECIPE, "utf-8")
    return path


def told_steps(run: RunPaths) -> list[dict[str, Any]]:
    """Return the step records without what depends on the clock."""
    found = files.read_lines(run.steps).records
    return [records.without_clock(StepRecord, record) for record in found]


def events(run: RunPaths, kind: str | None = None) -> list[dict[str, Any]]:
    """Return the events of a run, of one kind if one is named."""
    found = files.read_lines(run.events).records
    return [event for event in found if kind is None or event["kind"] == kind]


def status(run: RunPaths) -> dict[str, Any]:
    """Return what `status.json` says."""
    return json.loads(run.status.read_bytes())


def alive(root: Path) -> list[int]:
    """Ids of processes, zombies left out, that have a run's directory on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
        except (NotADirectoryError, FileNotFoundError, ProcessLookupError):
            continue
        if entry.name.isdigit() and str(root.resolve()).encode() in command:
            found.append(int(entry.name))
    return found
