"""A learner's state as a folder of files, complete and without pickle.

`learner.json` is written last and lists every part, so a folder without it is no checkpoint and a
missing part is named. Tensors are safetensors files: they can hold nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from trainer.ppo.weights import read_tensors, write_tensors

FORMAT = 1
COUNTERS = "learner.json"


@dataclass(frozen=True)
class LearnerState:
    """Everything that the next update depends on, apart from its trajectories and settings."""

    policy_version: int
    """Updates made; schedules and shuffles are functions of it."""
    seed: int
    """The source of every shuffle."""
    tensors: Mapping[str, Mapping[str, Tensor]]
    """By part: `actor`, `actor_optimizer`, `critic`, `critic_optimizer`, `random`."""


def write_state(directory: Path, state: LearnerState) -> None:
    """Write a state into an empty or new folder.

    Raises:
        FileExistsError: if the folder already holds a state; nothing is written over.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if (directory / COUNTERS).exists():
        raise FileExistsError(f"{directory} already holds a learner's state; choose another folder")
    for part, tensors in state.tensors.items():
        write_tensors(directory / f"{part}.safetensors", tensors)
    counters = {
        "format": FORMAT,
        "policy_version": state.policy_version,
        "seed": state.seed,
        "parts": {part: len(tensors) for part, tensors in state.tensors.items()},
    }
    (directory / COUNTERS).write_text(json.dumps(counters, indent=2) + "\n", encoding="utf-8")


def read_state(directory: Path) -> LearnerState:
    """Read a state whole.

    Raises:
        FileNotFoundError: naming the part that is missing.
        ValueError: naming the part that is damaged or of another format.
    """
    path = directory / COUNTERS
    if not path.is_file():
        raise FileNotFoundError(f"the checkpoint lacks its part {COUNTERS} ({path})")
    try:
        counters: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found_format, parts = counters["format"], dict(counters["parts"])
        version, seed = int(counters["policy_version"]), int(counters["seed"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} cannot be read ({error!r}); it is damaged, use an earlier checkpoint"
        ) from error
    if found_format != FORMAT:
        raise ValueError(f"{path} has format {found_format}, this learner reads format {FORMAT}")
    tensors: dict[str, Mapping[str, Tensor]] = {}
    for part, count in parts.items():
        tensors[part] = read_tensors(directory / f"{part}.safetensors")
        if len(tensors[part]) != count:
            raise ValueError(
                f"{directory / part}.safetensors holds {len(tensors[part])} tensors, {COUNTERS} "
                f"says {count}; it belongs to another checkpoint"
            )
    return LearnerState(version, seed, tensors)


def require_parts(state: LearnerState, directory: Path, networks: Sequence[str]) -> None:
    """Make sure that a state holds the random state, and weights and memory of each network.

    Raises:
        FileNotFoundError: naming the part that is missing.
    """
    for part in ("random", *(f"{name}{kind}" for name in networks for kind in ("", "_optimizer"))):
        if part not in state.tensors:
            raise FileNotFoundError(f"the checkpoint {directory} lacks its part {part}")
