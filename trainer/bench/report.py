"""The figures of all measurements as one table, or as JSON for a program.

A limit that is missed is marked, not raised: on a busy machine a figure tells of its neighbours.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from rich.console import Console
from rich.table import Table

from trainer.bench.figures import Figure

Results = Mapping[str, Sequence[Figure]]
"""Figures by name of measurement."""


def machine() -> dict[str, Any]:
    """Describe what the figures depend on: processors, threads, versions, and the load now."""
    return {
        "cpus": os.cpu_count(),
        "threads": 1,
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("torch", "transformers")},
    }


def to_json(results: Results, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything as JSON values; `missed` names the figures beyond their limit.

    Args:
        results: What was measured.
        about: What `machine` says.
    """
    return {
        "machine": dict(about),
        "missed": missed(results),
        "benches": {name: [one.to_json() for one in figures] for name, figures in results.items()},
    }


def missed(results: Results) -> list[str]:
    """Return the names of the figures that do not keep their limit."""
    return [one.name for figures in results.values() for one in figures if one.kept is False]


def show(console: Console, results: Results, about: Mapping[str, Any]) -> None:
    """Print the table.

    Args:
        console: Where to.
        results: What was measured.
        about: What `machine` says.
    """
    table = Table(title=title(about), title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("unit")
    table.add_column("limit", justify="right")
    table.add_column("cpu/wall", justify="right")
    for figures in results.values():
        for one in figures:
            style = "red" if one.kept is False else None
            table.add_row(*row(one), style=style)
        table.add_section()
    console.print(table)
    for name in missed(results):
        console.print(f"missed: {name}; with cpu/wall well below 1, repeat it on a quiet machine")


def title(about: Mapping[str, Any]) -> str:
    """Return one line about the machine, the same whenever it is measured."""
    return (
        f"{about['cpus']} vCPU, one thread, torch {about['torch']}, "
        f"transformers {about['transformers']}, Python {about['python']}"
    )


def row(one: Figure) -> tuple[str, str, str, str, str]:
    """Return a figure as the cells of a row."""
    mark = {True: " ok", False: " MISSED", None: ""}[one.kept]
    return (
        one.name,
        number(one.value),
        one.unit,
        f"{one.limit.text}{mark}" if one.limit else "",
        "" if one.cpu_per_wall is None else f"{one.cpu_per_wall:.2f}",
    )


def number(value: float) -> str:
    """Return a number with three digits that count, and no exponent."""
    if abs(value) >= 100 or value == 0:
        return f"{value:,.0f}"
    digits = 2 if abs(value) < 10 else 1
    return f"{value:.{digits if abs(value) >= 0.1 else 4}f}"
