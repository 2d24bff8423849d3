"""Builders for this folder: small real models and trajectories laid out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from trainer.episode import StopReason
from trainer.ppo.learner import LearnConfig, LearnSettings
from trainer.ppo.torch_learner import TorchLearner
from trainer.trajectory import Trajectory

VOCABULARY = 32


def build_model(seed: int = 0) -> Qwen3ForCausalLM:
    """Return a two-layer Qwen3 with tied embeddings."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            intermediate_size=32,
            vocab_size=VOCABULARY,
            max_position_embeddings=128,
            tie_word_embeddings=True,
        )
    )


def build_trajectory(
    number: int,
    layout: str = "ooaaooaa",
    *,
    reward: float | None = None,
    stop: StopReason = StopReason.SOLVED,
    ids: Sequence[int] | None = None,
    **changes: Any,
) -> Trajectory:
    """Return a trajectory from a drawing: `a` is an action token, `o` anything else."""
    mask = [letter == "a" for letter in layout]
    starts = [here and not before for here, before in zip(mask, [False, *mask], strict=False)]
    turns = [sum(starts[: place + 1]) - 1 if acts else -1 for place, acts in enumerate(mask)]
    chance = torch.Generator().manual_seed(number)
    drawn = torch.randint(1, VOCABULARY, (len(layout),), generator=chance).tolist()
    rewards = [0.0] * len(layout)
    if any(mask):
        rewards[layout.rindex("a")] = float(number % 2) if reward is None else reward
    fields: dict[str, Any] = {
        "ids": tuple(drawn if ids is None else ids),
        "action_mask": tuple(mask),
        "turn_ids": tuple(turns),
        "segment_ids": tuple(turns),
        "rollout_logprobs": tuple(-3.4 if acts else 0.0 for acts in mask),
        "rewards": tuple(rewards),
        "stop": stop,
        "episode_id": f"000001-{number:02d}",
        "task_id": f"task-{number // 2}",
        "group_id": f"group-{number // 2}",
        "arm": "symbolic",
        "revision": 0,
        "policy_version": 0,
    }
    return Trajectory(**(fields | changes))


def build_batch(count: int = 8, first: int = 0) -> list[Trajectory]:
    """Return trajectories of different lengths, some of them cut by a limit."""
    layouts = ("ooaaooaa", "oooaaaaoaaoo", "oaaa", "oooooaoaoaaa")
    return [
        build_trajectory(
            number,
            layouts[number % len(layouts)],
            stop=StopReason.OUT_OF_STEPS if number % 3 == 2 else StopReason.SOLVED,
        )
        for number in range(first, first + count)
    ]


@pytest.fixture
def model() -> Callable[..., Qwen3ForCausalLM]:
    """Build a two-layer model from a seed."""
    return build_model


@pytest.fixture
def trajectory() -> Callable[..., Trajectory]:
    """Build one trajectory from a number and a drawing."""
    return build_trajectory


@pytest.fixture
def batch() -> Callable[..., list[Trajectory]]:
    """Build a mixed batch."""
    return build_batch


@pytest.fixture
def learner() -> Callable[..., TorchLearner]:
    """Build a learner around a fresh model; keyword arguments change its configuration."""

    def build(*, seed: int = 7, reference: bool = False, **changes: Any) -> TorchLearner:
        return TorchLearner(
            build_model(),
            LearnConfig(**changes),
            seed=seed,
            reference_model=build_model(1) if reference else None,
        )

    return build


@pytest.fixture
def settings() -> Callable[..., LearnSettings]:
    """Build live settings; keyword arguments change them."""

    def build(**changes: Any) -> LearnSettings:
        fields: dict[str, Any] = {"actor_lr": 1e-3, "critic_lr": 1e-2}
        return LearnSettings(**(fields | changes))

    return build


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Name a folder that does not exist yet."""
    return tmp_path / "checkpoint"
