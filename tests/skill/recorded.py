"""Recorded runs, built in a few lines: records as a trainer writes them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gate.contract.paths import RunPaths
from skill.diagnosis.windows import Window

NOW = 1_000_000.0
BIG_STEPS = 10_000

LEARNER = {
    "entropy": 0.5,
    "kl": 0.05,
    "policy_kl": 1e-4,
    "explained_variance": 0.5,
    "return_std": 0.3,
    "sampler_logprob_gap_mean": 1e-6,
    "tis_clipped_fraction": 0.0,
    "credit_reactions_invalid": 0.0,
    "actor_grad_norm": 0.2,
}


def step(number: int, *, learner: Mapping[str, float] | None = None, **fields: Any) -> dict:
    """Return a step record of a run that is well, with some fields changed."""
    return {
        "step": number,
        "revision": 0,
        "started": 32,
        "finished": 32,
        "quarantined": 0,
        "dropped": 0,
        "stop_reasons": {"solved": 16, "failed": 16},
        "success": 0.5,
        "reward": 0.6,
        "task_reward": 0.6,
        "shaping_reward": 0.0,
        "max_reply_chars": 40,
        "action_tokens": 1600,
        "step_s": 4.0,
        "learner": {**LEARNER, **(learner or {})},
    } | fields


def steps(count: int, **changing: Sequence[Any]) -> tuple[dict, ...]:
    """Return a run of steps; each keyword gives a field (or a learner's number) step by step."""
    found = []
    for number in range(count):
        now = {name: values[number] for name, values in changing.items()}
        learner = {name: now.pop(name) for name in list(now) if name in LEARNER}
        found.append(step(number + 1, learner=learner, **now))
    return tuple(found)


def ramp(first: float, last: float, count: int, *, noise: float = 0.0) -> list[float]:
    """Return numbers from one value to another, with noise of a fixed seed."""
    chance = random.Random(7)
    width = (last - first) / max(1, count - 1)
    return [first + width * index + chance.gauss(0.0, noise) for index in range(count)]


def agent(text: str, at: int = 0) -> dict:
    """Return a turn of the agent."""
    return {"speaker": "agent", "text": text, "agent_turn": at}


def tool(text: str, at: int = 0, *events: str) -> dict:
    """Return a turn of a tool."""
    return {"speaker": "tool", "text": text, "agent_turn": at, "events": list(events)}


def user(text: str, at: int = 0, *revealed: str, **private: Any) -> dict:
    """Return a reply of the user."""
    turn: dict = {"speaker": "user", "text": text, "agent_turn": at, "voice": "symbolic"}
    if revealed:
        turn["revealed"] = list(revealed)
        turn["events"] = ["preference_elicited"]
    if private:
        turn["private"] = private
    return turn


def episode(index: int, turns: Iterable[dict] | None = None, **fields: Any) -> dict:
    """Return an episode that asks, looks up and answers; solved unless said otherwise."""
    subject = ("flight", "hotel", "table", "car", "tour", "train")[index % 6]
    ordinary = (
        agent(f"[action] which {subject} number {index}?", 0),
        user(f"The {subject} of wish {index}.", 0, f"P{index}", act="ask", match="open"),
        agent(f"[search] {subject} {index}", 1),
        tool(f"{subject}: X{index}, Y{index}", 1, "search_ok"),
        agent(f"[answer] X{index}", 2),
        tool("best", 2, "choice_best"),
    )
    opening = {"speaker": "user", "text": f"Please book {subject} {index}.", "agent_turn": 0}
    number = fields.get("step", 1)
    return {
        "id": f"{number:06d}-{index:02d}",
        "step": number,
        "task_id": f"task-{index}",
        "world": "travel",
        "arm": "symbolic",
        "revision": 0,
        "stop": "solved",
        "outcome": "finished",
        "success": 1.0,
        "reward": 1.0,
        "rewards": [{"rule": "task", "value": 1.0, "turn": 2}],
        "turns": [opening, *(ordinary if turns is None else turns)],
        "num_tokens": 120,
        "num_action_tokens": 40 + index % 5,
        "error": None,
    } | fields


def failure(index: int, turns: Iterable[dict] | None = None, **fields: Any) -> dict:
    """Return an episode whose last choice is wrong."""
    wrong = (
        agent(f"[search] hotel {index}", 0),
        tool(f"hotel: A{index}", 0, "search_ok"),
        agent(f"[answer] B{index}", 1),
        tool("wrong", 1, "choice_wrong"),
    )
    lost: dict[str, Any] = {"success": 0.0, "reward": 0.0, "rewards": [], "stop": "failed"}
    return episode(index, wrong if turns is None else turns, **(lost | fields))


def mixed(count: int, *, failing: int = 2) -> tuple[dict, ...]:
    """Return ordinary episodes, one in `failing` of them a failure."""
    return tuple(failure(i) if i % failing == 0 else episode(i) for i in range(count))


def window(**fields: Any) -> Window:
    """Return a window on a run that is well, with some parts changed."""
    status = {"phase": "training", "stage": "rollout", "step": 40, "heartbeat": NOW - 5.0}
    well: dict[str, Any] = {
        "run": "recorded",
        "now": NOW,
        "status": status,
        "steps": steps(40),
        "episodes": mixed(64),
    }
    return Window(**(well | fields))


def write(
    root: Path,
    *,
    steps: Iterable[Mapping[str, Any]] = (),
    episodes: Iterable[Mapping[str, Any]] = (),
    events: Iterable[Mapping[str, Any]] = (),
    status: Mapping[str, Any] | None = None,
) -> RunPaths:
    """Write records as the files of a run."""
    paths = RunPaths(root)
    paths.episodes.mkdir(parents=True, exist_ok=True)
    _append(paths.steps, steps)
    _append(paths.events, events)
    for record in episodes:
        _append(paths.episodes_of(record["step"]), [record])
    told = {"run": root.name, "phase": "finished", "stage": "done", "step": 1, "total_steps": 1}
    paths.status.write_text(json.dumps({**told, "heartbeat": NOW, **(status or {})}))
    return paths


def _append(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
