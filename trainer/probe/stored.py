"""The run's stored episodes, newest first, as far as a probe needs them.

A torn or odd record costs itself alone. Nothing here judges or pays.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.contract import files
from gate.contract.paths import RunPaths
from trainer.episode import Outcome, RewardEvent, Speaker, StopReason, Turn
from trainer.question import Answers, answers_on_file

LARGEST_FILE = 64 << 20
"""Bytes of one file of episodes; a larger one is left out."""


@dataclass(frozen=True)
class Stored:
    """One finished episode of a run."""

    id: str
    world: str
    task_id: str
    turns: tuple[Turn, ...]
    rewards: tuple[RewardEvent, ...]
    success: float
    stop: StopReason
    reward: float
    """Sum of all payments."""
    answers: Answers = field(default_factory=dict)
    """What a judge said of it at the time, by question; empty where rules decided."""


def read(run: Path | None, most: int) -> tuple[Stored, ...]:
    """Return the newest finished episodes of a run; none where there is no run.

    Args:
        run: The run's folder.
        most: Episodes, at most.
    """
    kept: list[Stored] = []
    for record in _records(run) if run is not None else ():
        if len(kept) >= most:
            break
        episode = _episode(record)
        if episode is not None:
            kept.append(episode)
    return tuple(kept)


def _records(run: Path) -> Iterator[dict[str, Any]]:
    folder = RunPaths(run).episodes
    try:
        names = sorted(
            (name for name in os.listdir(folder) if name.endswith(".jsonl")), reverse=True
        )
    except OSError:
        return
    for name in names:
        try:
            content = files.read_plain(folder / name, most=LARGEST_FILE)
        except OSError:
            continue
        if len(content) <= LARGEST_FILE:
            yield from reversed(files.parse_lines(content.split(b"\n")).records)


def _episode(record: Mapping[str, Any]) -> Stored | None:
    """Return a finished episode, None where the record is another one or lacks something."""
    try:
        if record["outcome"] != Outcome.FINISHED or record["success"] is None:
            return None
        return Stored(
            id=str(record["id"]),
            world=str(record["world"]),
            task_id=str(record["task_id"]),
            turns=tuple(_turn(turn) for turn in record["turns"]),
            rewards=tuple(
                RewardEvent(str(one["rule"]), float(one["value"]), int(one["turn"]))
                for one in record["rewards"]
            ),
            success=float(record["success"]),
            stop=StopReason(record["stop"]),
            reward=float(record["reward"]),
            answers=answers_on_file(record.get("judged")),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _turn(record: Mapping[str, Any]) -> Turn:
    return Turn(
        speaker=Speaker(record["speaker"]),
        text=str(record["text"]),
        agent_turn=int(record["agent_turn"]),
        revealed=tuple(map(str, record.get("revealed") or ())),
        events=tuple(map(str, record.get("events") or ())),
    )
