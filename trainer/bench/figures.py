"""What a measurement hands over: figures with units, limits, and how busy the machine was.

This module measures nothing and prints nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Limit(NamedTuple):
    """The bound that a figure is held to."""

    bound: float
    """In the figure's unit."""
    at_most: bool
    """True for an upper bound, False for a lower one."""

    @property
    def text(self) -> str:
        """The bound as a reader expects it, such as `<= 100`."""
        return f"{'<=' if self.at_most else '>='} {self.bound:,g}"


@dataclass(frozen=True)
class Figure:
    """One number of a measurement."""

    name: str
    """What was measured, unique within its measurement."""
    value: float
    unit: str
    """Such as `µs`, `tokens/s`, `x` for a ratio, or `%`."""
    limit: Limit | None = None
    cpu_per_wall: float | None = None
    """CPU seconds of this process per second of wall time; well below 1 tells of a busy machine,
    or of a process that waits. None where the value is no time, such as a count."""

    @property
    def kept(self) -> bool | None:
        """Whether the limit is kept; None without a limit."""
        if self.limit is None:
            return None
        bound, at_most = self.limit
        return self.value <= bound if at_most else self.value >= bound

    def to_json(self) -> dict[str, Any]:
        """Return the figure as JSON values, the limit as its text."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "limit": self.limit.text if self.limit else None,
            "kept": self.kept,
            "cpu_per_wall": self.cpu_per_wall,
        }


def at_most(bound: float) -> Limit:
    """Return an upper bound."""
    return Limit(bound, at_most=True)


def at_least(bound: float) -> Limit:
    """Return a lower bound."""
    return Limit(bound, at_most=False)
