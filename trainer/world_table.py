"""The table of the worlds there are: their tasks, limits and metrics, and what players score.

Scores are played, not declared: the oracle and the idle player go through a world's own tasks with
its symbolic user and the default knobs. This module knows no world by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rich import box
from rich.console import Console
from rich.table import Table

from trainer.stage import stage
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.declaration import read_declaration

ORACLE, IDLE = "oracle", "idle"
NUM_TASKS = 40
"""Tasks that each of the two players plays, evenly spaced over both splits."""
_SEED = 1


@dataclass(frozen=True)
class Row:
    """One world, as declared."""

    world: str
    num_train: int
    num_evaluation: int
    real_data: str
    """What its loader reads from a path beside our own tasks."""
    metric: str
    """The metric that is a dialogue's success."""
    turn_limit: int


@dataclass(frozen=True)
class Played:
    """A row with what the two players scored."""

    row: Row
    num_tasks: int
    oracle: float
    """Mean success of the oracle, in [0, 1]."""
    floor: float
    """Mean success of the idle player."""
    oracle_sum: float | None
    """The oracle's mean of the benchmark's own sum of rewards, where the world reports one."""
    longest: int
    """Agent turns of the oracle's longest dialogue."""


def row(name: str) -> Row:
    """Return what a world declares.

    Raises:
        ValueError: if there is no such world.
    """
    world = catalog.world(name)
    declaration = read_declaration(world.folder)
    return Row(
        world=name,
        num_train=len(catalog.tasks(name, "train")),
        num_evaluation=len(catalog.tasks(name, "evaluation")),
        real_data=world.real_data,
        metric=declaration.metric,
        turn_limit=declaration.turn_limit,
    )


def played(name: str, num_tasks: int = NUM_TASKS) -> Played:
    """Return a world's row with the scores of its oracle and its idle player.

    Args:
        name: Name of the world.
        num_tasks: How many tasks each plays, at least 1.

    Raises:
        ValueError: if there is no such world, or no task is to be played.
    """
    if num_tasks < 1:
        raise ValueError(f"{num_tasks} tasks to play; ask for at least 1")
    tasks = _spread([task for split in catalog.SPLITS for task in catalog.tasks(name, split)])
    chosen = tasks[:num_tasks]
    ready = stage(name)
    best, idle = (
        [ready.play(task, player, seed=_SEED) for task in chosen] for player in (ORACLE, IDLE)
    )
    sums = [episode.metrics["sum"] for episode in best if "sum" in episode.metrics]
    return Played(
        row=row(name),
        num_tasks=len(chosen),
        oracle=fmean(episode.success or 0.0 for episode in best),
        floor=fmean(episode.success or 0.0 for episode in idle),
        oracle_sum=fmean(sums) if sums else None,
        longest=max(episode.num_agent_turns for episode in best),
    )


def markdown() -> str:
    """Return the table of all worlds as markdown, without scores."""
    lines = [
        "| world | train | evaluation | real data from a path | success is | turns |",
        "|---|---|---|---|---|---|",
    ]
    for one in map(row, catalog.WORLDS):
        numbers = f"{one.num_train} | {one.num_evaluation}"
        lines.append(
            f"| `{one.world}` | {numbers} | {one.real_data or '-'} | `{one.metric}` "
            f"| {one.turn_limit} |"
        )
    return "\n".join(lines)


def declarations() -> str:
    """Return a section for each world with its metrics, events, settings and players."""
    return "\n\n".join(map(_section, catalog.WORLDS))


def show(console: Console, rows: Sequence[Played]) -> None:
    """Print worlds with their scores.

    Tasks are those for training and for evaluation; turns, what the oracle's longest dialogue took
    of the limit; sum, the oracle's mean of the benchmark's own sum of rewards.
    """
    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading in ("world", "tasks", "turns", "success is"):
        table.add_column(heading, no_wrap=True)
    for heading in ("oracle", "floor", "sum"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("real data")
    for one in rows:
        declared = one.row
        table.add_row(
            declared.world,
            f"{declared.num_train}+{declared.num_evaluation}",
            f"{one.longest}/{declared.turn_limit}",
            declared.metric,
            f"{one.oracle:.3f}",
            f"{one.floor:.3f}",
            "-" if one.oracle_sum is None else f"{one.oracle_sum:.3f}",
            declared.real_data or "-",
        )
    console.print(table)


def _spread(tasks: Sequence[Task]) -> list[Task]:
    """Return all tasks in an order whose every beginning is spread over the whole."""
    # Halving the stride each time: 0, 1/2, 1/4, 3/4, 1/8, ...
    order: dict[int, None] = {}
    stride = len(tasks)
    while len(order) < len(tasks):
        order.update(dict.fromkeys(range(0, len(tasks), max(stride, 1))))
        stride //= 2
    return [tasks[index] for index in order]


def _section(name: str) -> str:
    world = catalog.world(name)
    declaration = read_declaration(world.folder)
    settings = ", ".join(f"`{key}: {value}`" for key, value in declaration.settings.items())
    players = ", ".join(f"`{player}`" for player in world.players)
    parts = [
        f"### `{name}`",
        f"Settings: {settings or 'none'}. Scripted players: {players}.",
        _entries("metric", declaration.metrics),
        _entries("event", declaration.events),
    ]
    if (judge := declaration.judge) is not None:
        parts.append(f"A judge, where the recipe names one, is asked: {judge.asks}")
        parts += [_entries("metric with a judge", judge.metrics)] if judge.metrics else []
    return "\n\n".join(parts)


def _entries(heading: str, entries: Mapping[str, str]) -> str:
    lines = [f"| {heading} | meaning |", "|---|---|"]
    lines += [f"| `{key}` | {sentence} |" for key, sentence in entries.items()]
    return "\n".join(lines)
