"""Success of a step with its interval, by side and by who was drawn to play the user.

The numbers are those of the step record, the interval is Wilson's over its episodes; two episodes
of a task are not independent, so it is a little too narrow. This module reads no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gate.contract.records import told
from gate.contract.sides import Side
from trainer.evaluation import wilson
from trainer.looking.reading import mapping, number

EVERYBODY = "all"
"""The arm of a number that is not told by arm."""


@dataclass(frozen=True)
class Share:
    """Mean success over some episodes, with its 95% interval."""

    side: str = told("Under which values they were played: in_force, old, new or anchor.")
    arm: str = told("Who was drawn to play the user; `all` where the record does not tell.")
    success: float = told("Mean success, in [0, 1].")
    low: float = told("Lower end of Wilson's 95% interval.")
    high: float = told("Upper end of it.")
    episodes: int = told("Episodes that count.", unit="episodes")

    def __str__(self) -> str:
        """Return mean, interval and number of episodes, as in `0.75 (0.58 to 0.87) of 32`."""
        return f"{self.success:.2f} ({self.low:.2f} to {self.high:.2f}) of {self.episodes}"


def shares(record: Mapping[str, Any]) -> tuple[Share, ...]:
    """Return the success of one step, the side in force first and the anchors last.

    Args:
        record: A step record. While a test splits the batch its two sides are told instead.
    """
    sides = mapping(record.get("sides"))
    if sides:
        parts = [part for side in (Side.NEW, Side.OLD) for part in _of_side(side, sides)]
    else:
        counts = mapping(record.get("episodes_by_arm"))
        parts = [
            (Side.IN_FORCE, arm, value, counts.get(arm))
            for arm, value in mapping(record.get("success_by_arm")).items()
        ]
    anchors = (Side.ANCHOR, EVERYBODY, record.get("anchor_success"), record.get("anchor_episodes"))
    return tuple(_known([*parts, anchors]))


def pooled(found: Iterable[Share]) -> tuple[Share, ...]:
    """Return one share for each side and arm, over all episodes of several steps."""
    sums: dict[tuple[str, str], tuple[float, int]] = {}
    for one in found:
        total, episodes = sums.get((one.side, one.arm), (0.0, 0))
        key = (one.side, one.arm)
        sums[key] = (total + one.success * one.episodes, episodes + one.episodes)
    return tuple(
        _known(
            (side, arm, total / episodes, episodes)
            for (side, arm), (total, episodes) in sums.items()
        )
    )


def in_force(found: Iterable[Share]) -> tuple[Share, ...]:
    """Return shares with the new side of a test told as in force, which it is."""
    return tuple(
        replace(one, side=Side.IN_FORCE.value) if one.side == Side.NEW else one for one in found
    )


def _of_side(side: Side, sides: Mapping[str, Any]) -> Iterator[tuple[str, str, object, object]]:
    for arm, part in mapping(sides.get(side.value)).items():
        yield side, arm, mapping(part).get("success"), mapping(part).get("episodes")


def _known(parts: Iterable[tuple[str, str, object, object]]) -> Iterator[Share]:
    for side, arm, value, count in parts:
        mean, episodes = number(value), number(count)
        if mean is not None and episodes is not None and episodes >= 1:
            mean = max(0.0, min(1.0, mean))
            low, high = wilson(mean * episodes, int(episodes))
            yield Share(str(side), str(arm), mean, low, high, int(episodes))
