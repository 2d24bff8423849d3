"""Showing episodes: dialogues as a person reads them, from the records alone.

Text of models and users is data: control characters are made visible and no markup of it is
interpreted. This module reads a run and never writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from gate.contract import files
from gate.contract.paths import RunPaths

_EPISODE_ID = re.compile(r"([0-9]{6,9})-[0-9]+$")
_STYLES = {"system": "dim", "user": "cyan", "agent": "green", "tool": "yellow"}


def episodes(
    paths: RunPaths,
    *,
    step: int | None = None,
    episode: str | None = None,
    failed: bool = False,
    limit: int = 3,
) -> list[dict[str, Any]]:
    """Return the newest episodes that fit, newest step first.

    Args:
        paths: The run.
        step: Only this training step.
        episode: Only this episode, by its id.
        failed: Only episodes without full success.
        limit: How many at most.
    """
    numbered = _EPISODE_ID.match(episode or "")
    wanted = int(numbered.group(1)) if numbered else step
    found: list[dict[str, Any]] = []
    for record in _newest_first(paths, wanted):
        if episode is not None and record.get("id") != episode:
            continue
        if failed and (record.get("success") or 0.0) >= 1.0:
            continue
        found.append(record)
        if len(found) >= limit:
            break
    return found


def render(record: Mapping[str, Any]) -> Text:
    """Return one episode as styled text."""
    text = Text()
    success = record.get("success")
    verdict = "no verdict" if success is None else f"success {success:.2f}"
    text.append(
        visible(
            f"{record['id']}  {record['world']}  task {record['task_id']}  "
            f"{record['stop']} ({record['outcome']})  {verdict}  reward {record['reward']:.3f}  "
            f"user {record['arm']}  revision {record['revision']}"
        ),
        style="bold",
    )
    text.append("\n")
    if record.get("error"):
        text.append(f"  error: {visible(str(record['error']))}\n", style="red")
    payments: dict[int, list[str]] = {}
    for payment in record["rewards"]:
        told = f"{payment['rule']} {payment['value']:+.3f}"
        payments.setdefault(payment["turn"], []).append(told)
    for turn in record["turns"]:
        _render_turn(text, turn, payments)
    return text


def show(console: Console, records: list[dict[str, Any]]) -> None:
    """Print episodes, the one after the other."""
    for record in records:
        console.print(render(record), soft_wrap=True)


def visible(text: str) -> str:
    """Return text with its control characters shown as escapes, line ends kept."""
    return "".join(
        character if character.isprintable() or character == "\n" else f"\\x{ord(character):02x}"
        for character in text
    )


def _render_turn(text: Text, turn: Mapping[str, Any], payments: dict[int, list[str]]) -> None:
    speaker = turn["speaker"]
    voice = f"/{turn['voice']}" if turn.get("voice") else ""
    text.append(f"{visible(speaker + voice):>14}  ", style=_STYLES.get(speaker, ""))
    text.append(visible(turn["text"]).replace("\n", "\n" + " " * 16))
    notes = [*turn.get("events", ()), *(f"reveals {fact}" for fact in turn.get("revealed", ()))]
    if speaker == "agent":
        notes += payments.pop(turn["agent_turn"], [])
    if notes:
        text.append(visible(f"   [{', '.join(notes)}]"), style="dim")
    text.append("\n")


def _newest_first(paths: RunPaths, step: int | None) -> Iterator[dict[str, Any]]:
    if step is not None:
        yield from files.read_lines(paths.episodes_of(step)).records
        return
    for path in sorted(paths.episodes.glob("*.jsonl"), reverse=True):
        yield from files.read_lines(path).records
