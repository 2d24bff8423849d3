"""Comparing runs: what each recipe reached, over seeds, and what difference could be seen at all.

Runs that differ by seed alone are one row. This module reads no file and knows nothing about how
runs are trained.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trainer.evaluation import Interval
from trainer.measured import Measured, mean
from trainer.show import visible
from trainer.student import detectable, quantile

LEGEND = (
    "diff: to row 1; least: the smallest difference that four tests in five would find; "
    "tokens and minutes: of a whole run"
)
SHOWN_SETTINGS = 6
"""Settings of a row that the table names; JSON has them all."""


@dataclass(frozen=True)
class Row:
    """Runs that differ by seed alone."""

    recipe: str
    differs: Mapping[str, Any]
    """Settings whose value is not the first row's; null where the row has no such setting."""
    runs: tuple[str, ...]
    seeds: tuple[int, ...]
    steps: tuple[int, int] | None
    arms: tuple[str, ...]
    success: float | None
    """Mean over seeds."""
    interval: Interval | None
    """95% interval of `success`, Student's t over seeds, cut to [0, 1]; None without noise."""
    difference: float | None
    """Success less that of the first row."""
    smallest: float | None
    """The smallest difference to the first row that four tests in five would find at the 5% level
    (Welch's t); in the first row, the smallest to another row just as noisy. None where noise is
    unknown."""
    noise: str
    """Why the noise is unknown; empty where it is not."""
    reward: float | None
    agent_turns: float | None
    action_tokens: float
    """Per run."""
    minutes: float
    """Per run."""
    remarks: tuple[str, ...]


def rows(runs: Sequence[Measured]) -> list[Row]:
    """Return one row for each group of runs that differ by seed alone, in the given order."""
    groups: dict[str, list[Measured]] = {}
    for one in runs:
        key = json.dumps([one.recipe, one.settings], sort_keys=True, default=str)
        groups.setdefault(key, []).append(one)
    grouped = list(groups.values())
    return [_row(group, base=grouped[0]) for group in grouped]


def notes(runs: Sequence[Measured]) -> list[str]:
    """Return what makes the rows of a table hard to compare, each in a sentence."""
    found: list[str] = []
    arms = sorted({", ".join(one.arms) or "none" for one in runs})
    if len(arms) > 1:
        found.append(f"the user was played by different arms ({'; '.join(arms)})")
    ends = sorted({one.steps[1] if one.steps else 0 for one in runs})
    if len(ends) > 1:
        found.append(f"runs end at different steps ({', '.join(map(str, ends))})")
    if len({one.commit for one in runs}) > 1:
        found.append("runs were launched from different commits")
    return found


def show(console: Console, found: Sequence[Row], remarks: Sequence[str]) -> None:
    """Print rows, how each differs from the first, and what makes them hard to compare.

    Args:
        console: Where to.
        found: What `rows` returned.
        remarks: What `notes` returned.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("row", overflow="fold")
    for heading in ("seeds", "success (95%)"):
        table.add_column(heading, no_wrap=True)
    for heading in ("diff", "least", "reward", "turns", "tokens", "min"):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, one in enumerate(found, start=1):
        table.add_row(*(Text(visible(cell)) for cell in (f"{number} {one.recipe}", *_cells(one))))
    console.print(table)
    console.print(Text(f"\n{LEGEND}"), soft_wrap=True)
    for number, one in enumerate(found, start=1):
        told = f"{number} {one.recipe}: {'; '.join(_sentences(one))}"
        console.print(Text(visible(told)), soft_wrap=True)
    for remark in remarks:
        console.print(Text(visible(f"note: {remark}")), soft_wrap=True)


def interval(values: Sequence[float]) -> Interval | None:
    """Return Student's 95% interval of a mean of shares, cut to [0, 1].

    Args:
        values: One a seed, in [0, 1]; fewer than two, or all alike, tell of no noise.
    """
    error = standard_error(values)
    if error is None:
        return None
    half = quantile(0.975, freedom=len(values) - 1) * error
    centre = fmean(values)
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of a mean over seeds; None where they tell of no noise."""
    if _unknown_noise(values):
        return None
    return stdev(values) / math.sqrt(len(values))


def _row(group: Sequence[Measured], base: Sequence[Measured]) -> Row:
    own, first = _by_seed(group), _by_seed(base)
    noise = _unknown_noise(own)
    if not noise and (of_first := _unknown_noise(first)):
        noise = f"first row: {of_first}"
    names = {key for one in (group[0], base[0]) for key in one.settings}
    mine, theirs = group[0].settings, base[0].settings
    ends = [one.steps for one in group if one.steps]
    return Row(
        recipe=group[0].recipe,
        differs={key: mine.get(key) for key in sorted(names) if mine.get(key) != theirs.get(key)},
        runs=tuple(one.run for one in group),
        seeds=tuple(sorted({one.seed for one in group})),
        steps=(min(end[0] for end in ends), max(end[1] for end in ends)) if ends else None,
        arms=tuple(sorted({arm for one in group for arm in one.arms})),
        success=mean(own),
        interval=interval(own),
        difference=fmean(own) - fmean(first) if own and first and group is not base else None,
        smallest=_smallest(own, first),
        noise=noise,
        reward=mean(one.reward for one in group),
        agent_turns=mean(one.agent_turns for one in group),
        action_tokens=fmean(one.action_tokens for one in group),
        minutes=fmean(one.minutes for one in group),
        remarks=tuple(_remarks(group)),
    )


def _smallest(own: Sequence[float], first: Sequence[float]) -> float | None:
    """Return the smallest difference between two rows that could be seen; None without noise."""
    mine, theirs = standard_error(own), standard_error(first)
    if mine is None or theirs is None:
        return None
    # Welch and Satterthwaite: the noisier row counts for more of the freedom, rounded down.
    squared = mine**2 + theirs**2
    freedom = squared**2 / (mine**4 / (len(own) - 1) + theirs**4 / (len(first) - 1))
    return detectable(max(1, math.floor(freedom + 1e-9))) * math.sqrt(squared)


def _by_seed(group: Sequence[Measured]) -> list[float]:
    """Return one success a seed: two runs of one seed are one draw of chance, and are averaged."""
    found: dict[int, list[float]] = {}
    for one in group:
        if one.success is not None:
            found.setdefault(one.seed, []).append(one.success)
    return [fmean(values) for values in found.values()]


def _unknown_noise(values: Sequence[float]) -> str:
    """Return in words why the values tell of no noise; empty where they do."""
    if not values:
        return "no step yet"
    if len(values) == 1:
        return "one seed: no interval"
    return "seeds all alike: noise unknown" if min(values) == max(values) else ""


def _remarks(group: Sequence[Measured]) -> list[str]:
    found: list[str] = []
    if edited := [one.run for one in group if one.edited]:
        found.append(f"knobs or worlds were edited in {len(edited)} of {len(group)} runs")
    if len({one.start_knobs for one in group if one.start_knobs}) > 1:
        found.append("runs started from different knob files")
    if again := len(group) - len({one.seed for one in group}):
        found.append(f"{again} more runs of the same seeds, averaged with them")
    if silent := [one.run for one in group if one.success is None]:
        found.append(f"no finished episode in {', '.join(silent)}")
    if unreadable := sum(one.unreadable for one in group):
        found.append(f"{unreadable} unreadable lines left out")
    return found


def _cells(one: Row) -> tuple[str, ...]:
    low_high = "" if one.interval is None else f" ({one.interval[0]:.2f} to {one.interval[1]:.2f})"
    return (
        str(len(one.seeds)),
        _number(one.success, ".3f") + low_high,
        _number(one.difference, "+.3f"),
        _number(one.smallest, ".3f"),
        _number(one.reward, ".3f"),
        _number(one.agent_turns, ".1f"),
        f"{one.action_tokens:,.0f}",
        f"{one.minutes:.1f}",
    )


def _sentences(one: Row) -> list[str]:
    found = [", ".join(one.runs)]
    if one.steps is not None:
        found.append(f"steps {one.steps[0]} to {one.steps[1]}")
    if one.differs:
        found.append(_settings(one.differs))
    if one.noise:
        found.append(one.noise)
    return [*found, *one.remarks]


def _settings(differs: Mapping[str, Any]) -> str:
    """Return settings as a recipe's `--set` has them, the first few of many."""
    shown = [f"{key}={json.dumps(differs[key])}" for key in list(differs)[:SHOWN_SETTINGS]]
    more = len(differs) - len(shown)
    return ", ".join([*shown, *([f"and {more} more"] if more else [])])


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
