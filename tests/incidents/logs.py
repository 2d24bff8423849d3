"""Damaged and odd logs as they were reported, each in a few lines."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from tests.skill import recorded
from tests.skill.recorded import agent, ramp, user

STEPS = 40


def lines(records: list[dict[str, Any]]) -> bytes:
    """Return records as a file of JSON lines."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def _series(**changing: list[float]) -> dict[str, Any]:
    return {"steps": recorded.steps(STEPS, **changing)}


def _noise(mean: float, sd: float) -> list[float]:
    chance = random.Random(3)
    return [min(1.0, max(0.0, chance.gauss(mean, sd))) for _ in range(STEPS)]


def _cycle(low: float, high: float) -> list[float]:
    return [low if step // 5 % 2 else high for step in range(STEPS)]


def _same_words(text: str, **fields: Any) -> tuple[dict[str, Any], ...]:
    return tuple(
        recorded.failure(index, [agent(f"{text} {index}"), user("no.")], **fields)
        for index in range(40)
    )


def _without(name: str) -> tuple[dict[str, Any], ...]:
    whole = (recorded.episode(index) for index in range(40))
    return tuple({key: value for key, value in one.items() if key != name} for one in whole)


ODD: Mapping[str, Mapping[str, Any]] = {
    "J-EMPTY": {"episodes": tuple(recorded.episode(i, [], num_action_tokens=0) for i in range(40))},
    "J-NOTERM": {"episodes": _without("stop")},
    "J-TERMMIX": {
        "episodes": tuple(
            recorded.episode(i, stop=("solved", "user_ended", "out_of_steps", "world_hung")[i % 4])
            for i in range(40)
        )
    },
    "J-NANGROUP": {
        "episodes": tuple(
            recorded.failure(i, reward=float("nan") if i % 4 == 0 else 0.0) for i in range(40)
        )
    },
    "J-NOISE": _series(success=_noise(0.5, 0.228)),
    "J-ENTCOLLAPSE": _series(entropy=ramp(0.6, 0.01, STEPS)),
    "J-ENTRISE": _series(entropy=[0.5] * (STEPS - 3) + [2.5] * 3),
    "J-ENTCYCLE": _series(entropy=_cycle(0.2, 1.2)),
    "J-TEMPLATE": {"episodes": _same_words("I am sure that everything will be fine, friend")},
    "J-KLBLOW": _series(kl=[0.05] * (STEPS - 4) + [40.0] * 4),
    "J-BANG": {"episodes": _same_words("!" * 200), **_series(entropy=[float("nan")] * STEPS)},
    "J-HACK1": _series(reward=ramp(0.2, 0.9, STEPS), success=ramp(0.4, 0.2, STEPS)),
    "J-HACK2": _series(shaping_reward=ramp(0.0, 0.9, STEPS), task_reward=ramp(0.5, 0.1, STEPS)),
    "J-HACKLEN": _series(
        action_tokens=ramp(800, 8000, STEPS), reward=ramp(0.2, 0.9, STEPS), success=[0.5] * STEPS
    ),
    "J-STALE": _series(sampler_logprob_gap_mean=ramp(1e-6, 0.5, STEPS)),
}
"""Logs that are whole and say something odd: fields of a `recorded.window`."""
