"""Gold transcripts: dialogues with the verdict that a person has put on them.

Each line of `gold/*.jsonl` in a world's folder carries its own task, so a verifier is judged by
it alone. Metrics that a label leaves out are left open. Nothing here calls a verifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer import task as tasks
from trainer.episode import Speaker, Turn
from trainer.task import Task
from trainer.worlds import source


@dataclass(frozen=True)
class Gold:
    """One labelled dialogue."""

    name: str
    why: str
    """What the case shows, in a sentence."""
    task: Task
    turns: tuple[Turn, ...]
    success: float
    """The verdict that a verifier must reach, in [0, 1]."""
    metrics: Mapping[str, float]
    """The numbers it must report beside it."""


def read_gold(folder: Path) -> tuple[Gold, ...]:
    """Return the gold transcripts of the world in `folder`, file by file.

    Raises:
        SourceError: if there is none, or one lacks a field.
    """
    paths = sorted((folder / "gold").glob("*.jsonl"))
    if not paths:
        raise source.SourceError(f"{folder / 'gold'}: no *.jsonl; a verifier needs gold verdicts")
    return tuple(_gold(record, path) for path in paths for record in source.read_lines(path))


def _gold(record: Mapping[str, Any], path: Path) -> Gold:
    try:
        return Gold(
            name=record["name"],
            why=record["why"],
            task=tasks.from_json(record["task"]),
            turns=_turns(record["turns"]),
            success=float(record["success"]),
            metrics=record["metrics"],
        )
    except (KeyError, ValueError) as error:
        name = record.get("name", "?")
        raise source.SourceError(f"{path}: transcript {name!r} is incomplete: {error!r}") from error


def _turns(entries: list[Mapping[str, Any]]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    num_agent_turns = 0
    for entry in entries:
        speaker = Speaker(entry["speaker"])
        agent_turn = num_agent_turns if speaker is Speaker.AGENT else max(num_agent_turns - 1, 0)
        num_agent_turns += speaker is Speaker.AGENT
        revealed = tuple(entry.get("revealed", ()))
        turns.append(Turn(speaker, entry["text"], agent_turn, revealed=revealed))
    return tuple(turns)
