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
_HEADING = ("id", "world", "task_id", "stop", "outcome", "arm", "revision")
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
        success = record.get("success")
        if failed and isinstance(success, int | float) and success >= 1.0:
            continue
        found.append(record)
        if len(found) >= limit:
            break
    return found


def render(record: Mapping[str, Any]) -> Text:
    """Return one episode as styled text; what a damaged record lacks is shown as unknown."""
    text = Text()
    told = {name: record.get(name, "?") for name in _HEADING}
    success, reward = record.get("success"), record.get("reward")
    verdict = f"success {success:.2f}" if isinstance(success, int | float) else "no verdict"
    earned = f"{reward:.3f}" if isinstance(reward, int | float) else "?"
    text.append(
        visible(
            "{id}  {world}  task {task_id}  {stop} ({outcome})  ".format_map(told)
            + f"{verdict}  reward {earned}  user {told['arm']}  revision {told['revision']}"
        ),
        style="bold",
    )
    text.append("\n")
    if record.get("error"):
        text.append(f"  error: {visible(str(record['error']))}\n", style="red")
    payments: dict[Any, list[str]] = {}
    for payment in maps(record.get("rewards")):
        value = payment.get("value")
        told_value = f"{value:+.3f}" if isinstance(value, int | float) else "?"
        payments.setdefault(payment.get("turn"), []).append(f"{payment.get('rule')} {told_value}")
    for turn in maps(record.get("turns")):
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


def _render_turn(text: Text, turn: Mapping[str, Any], payments: dict[Any, list[str]]) -> None:
    speaker = str(turn.get("speaker", "?"))
    voice = f"/{turn['voice']}" if turn.get("voice") else ""
    text.append(f"{visible(speaker + voice):>14}  ", style=_STYLES.get(speaker, ""))
    text.append(visible(str(turn.get("text", ""))).replace("\n", "\n" + " " * 16))
    notes = [*names(turn.get("events"))]
    notes += [f"reveals {fact}" for fact in names(turn.get("revealed"))]
    if speaker == "agent":
        notes += payments.pop(turn.get("agent_turn"), [])
    if notes:
        text.append(visible(f"   [{', '.join(notes)}]"), style="dim")
    text.append("\n")


def maps(value: Any) -> list[Mapping[str, Any]]:
    """Return the maps of a list, nothing where it is none."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def names(value: Any) -> list[str]:
    """Return the entries of a list as texts, nothing where it is none."""
    return [str(one) for one in value] if isinstance(value, list) else []


def _newest_first(paths: RunPaths, step: int | None) -> Iterator[dict[str, Any]]:
    if step is not None:
        yield from files.read_lines(paths.episodes_of(step)).records
        return
    for path in sorted(paths.episodes.glob("*.jsonl"), reverse=True):
        yield from files.read_lines(path).records
