"""One run in numbers: what it was launched with, and what its newest steps reached.

Read from the launch record and, from their end and in bounded memory, the step records; the run
is not touched. This module knows no other run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from gate.contract import files, launch_record
from gate.contract.paths import RunPaths
from trainer import recipe_file
from trainer.errors import Unusable

LAST_STEPS = 10
MOST_STEPS = 100_000
"""Lines of `steps.jsonl` that are read of one run."""
_NO_TREATMENT = ("name", "seed", "threads", "checkpoint.")
"""Settings of a recipe that do not change what is learnt, or only by chance."""


class MeasureError(Unusable):
    """A run that cannot be compared; the message says what to do."""


@dataclass(frozen=True)
class Measured:
    """One run, as its records tell."""

    run: str
    recipe: str
    seed: int
    settings: Mapping[str, Any]
    """What it was launched with, by dotted name: recipe, starting knobs, tasks and world."""
    commit: str | None
    steps: tuple[int, int] | None
    """First and last step that count; None before the first."""
    success: float | None
    """Each arm's mean success over the episodes of these steps; then the arms' mean, equally."""
    arms: tuple[str, ...]
    reward: float | None
    agent_turns: float | None
    action_tokens: float
    """That the policy wrote in the whole run."""
    minutes: float
    """Of training steps, in the whole run."""
    edited: bool
    """Whether a revision after the launch was in force in the steps that count."""
    start_knobs: str | None
    """Digest of the knob values of a run that was not edited."""
    unreadable: int
    """Lines of its step records that hold none."""


def measure(paths: RunPaths, *, last: int = LAST_STEPS) -> Measured:
    """Return what the records of a run tell.

    Args:
        paths: The run.
        last: How many of the newest steps count, at least 1.

    Raises:
        MeasureError: if its launch record is missing or damaged.
        RecipeError: if it was launched with settings that there are no longer.
    """
    record = _launch(paths)
    config = recipe_file.from_values(record["config"], where=str(paths.launch))
    window: list[Mapping[str, Any]] = []
    tokens = seconds = 0.0
    unreadable = 0
    for line in islice(files.lines_from_the_end(paths.steps), MOST_STEPS):
        step = files.parse_line(line)[0]
        if step is None or not isinstance(step.get("step"), int):
            unreadable += bool(line.strip())
            continue
        tokens += _finite(step.get("action_tokens")) or 0.0
        seconds += _finite(step.get("step_s")) or 0.0
        if len(window) < last:
            window.append(step)
    arms = _by_arm(window)
    edited = any(step.get("revision") for step in window)
    return Measured(
        run=paths.root.name,
        recipe=config.name,
        seed=config.seed,
        settings=_settings(recipe_file.to_values(config), record),
        commit=record.get("commit"),
        steps=(window[-1]["step"], window[0]["step"]) if window else None,
        success=mean(arms.values()),
        arms=tuple(arms),
        reward=mean(_finite(step.get("reward")) for step in window),
        agent_turns=mean(_finite(step.get("agent_turns")) for step in window),
        action_tokens=tokens,
        minutes=seconds / 60,
        edited=edited,
        start_knobs=window[0].get("knobs_digest") if window and not edited else None,
        unreadable=unreadable,
    )


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are there; None without any."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _launch(paths: RunPaths) -> Mapping[str, Any]:
    """Return the launch record, as plain values with a recipe in them."""
    try:
        content = files.read_plain(paths.launch, most=launch_record.LARGEST)
        record = YAML(typ="safe", pure=True).load(content[: launch_record.LARGEST])
    except OSError as error:
        raise MeasureError(f"{paths.launch}: {error.strerror}; name a run's folder") from error
    except (YAMLError, UnicodeDecodeError, ValueError) as error:
        raise MeasureError(f"{paths.launch} is damaged: {error}; leave this run out") from error
    if not isinstance(record, dict) or not isinstance(record.get("config"), dict):
        raise MeasureError(f"{paths.launch} holds no recipe; restore it, or leave this run out")
    return record


def _settings(config: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run was launched with, flat, without what is chance or bookkeeping."""
    flat = {
        key: value for key, value in _flat(config, "").items() if not key.startswith(_NO_TREATMENT)
    }
    for world, tasks in (record.get("tasks") or {}).items():
        flat[f"tasks.{world}"] = str(tasks.get("digest"))[:8]
    if digest := (record.get("protected") or {}).get("world/0000"):
        flat["world"] = str(digest)[:8]
    return flat


def _flat(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _by_arm(window: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return each arm's mean success over all its episodes in some steps."""
    sums: dict[str, float] = {}
    counts: dict[str, float] = {}
    for step in window:
        episodes = step.get("episodes_by_arm") or {}
        for arm, value in (step.get("success_by_arm") or {}).items():
            success, count = _finite(value), _finite(episodes.get(arm))
            if success is not None and count:
                sums[arm] = sums.get(arm, 0.0) + success * count
                counts[arm] = counts.get(arm, 0.0) + count
    return {arm: sums[arm] / counts[arm] for arm in sorted(sums)}


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
