"""Charts of a page about a run, as SVG that stands in the page and follows its light or dark theme.

Pure text in, pure text out. Colours come from the page's style sheet by class, so that a chart
is readable in both themes; every label is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import NamedTuple

from trainer.figure import running_mean
from trainer.show import visible

NUM_COLOURS = 8
"""Colours of the style sheet, `c0` and so on; curves beyond begin anew."""
MOST_POINTS = 240
"""Points of a curve; longer ones are averaged to so many."""
SMOOTH_STEPS = 5
"""Steps in the running mean that is drawn where a chart is smoothed."""


class Frame(NamedTuple):
    """Where a chart is drawn, in its own units, and what its axes span."""

    width: int
    height: int
    first: int
    """The first step."""
    last: int
    low: float
    high: float
    left: int = 44
    right: int = 10
    top: int = 24
    bottom: int = 24

    def x(self, step: float) -> float:
        """Return where a step is drawn."""
        share = (step - self.first) / max(self.last - self.first, 1)
        return round(self.left + (self.width - self.left - self.right) * share, 1)

    def y(self, value: float) -> float:
        """Return where a value is drawn, within the frame."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        floor = self.height - self.bottom
        return round(floor - (floor - self.top) * max(0.0, min(1.0, share)), 1)


@dataclass(frozen=True)
class Curve:
    """One number over steps."""

    label: str
    points: Sequence[tuple[int, float]]
    """Step and value; a gap of steps is a gap of the curve."""
    colour: int
    dashed: bool = False
    """Drawn as what is only compared with: without the values behind a running mean."""


@dataclass(frozen=True)
class Band:
    """Steps that something was in force in."""

    first: int
    last: int
    label: str
    told: str
    """What a reader who points at it is told."""
    planted: bool = False


@dataclass(frozen=True)
class Mark:
    """Something that was found at a step."""

    step: int
    good: bool | None
    """True for a help, False for a harm, None for neither."""
    told: str


def lines(
    curves: Sequence[Curve],
    frame: Frame,
    *,
    title: str,
    bands: Sequence[Band] = (),
    marks: Sequence[Mark] = (),
    smooth: bool = False,
) -> str:
    """Return curves over steps.

    Args:
        curves: What to draw, in this order.
        frame: Where, and what the axes span.
        title: What the chart shows, for a reader who does not see it.
        bands: What was in force, behind the curves.
        marks: What was found, above them.
        smooth: Whether to draw running means, with the values behind them, pale.
    """
    parts = [part for band in bands for part in _band(band, frame)]
    parts += _axes(frame)
    for one in curves:
        points = thinned(one.points)
        pieces = list(_pieces(points))
        for piece in pieces:
            style = f"s c{one.colour % NUM_COLOURS}{' dash' if one.dashed else ''}"
            if smooth and len(piece) > SMOOTH_STEPS:
                if not one.dashed:
                    parts.append(_polyline(piece, frame, f"{style} pale"))
                means = running_mean([value for _, value in piece], SMOOTH_STEPS)
                piece = [(step, mean) for (step, _), mean in zip(piece, means, strict=True)]
            parts.append(_polyline(piece, frame, style))
    parts += [part for mark in marks for part in _mark(mark, frame)]
    return _svg(parts, frame, title)


def areas(layers: Sequence[Curve], frame: Frame, *, title: str) -> str:
    """Return layers that stand on one another, as shares that add up to the frame's height.

    Args:
        layers: From the bottom up; all have the same steps.
        frame: Where, and what the axes span.
        title: What the chart shows, for a reader who does not see it.
    """
    parts: list[str] = []
    floor: list[tuple[int, float]] = []
    for one in layers:
        points = thinned(one.points)
        below = floor or [(step, 0.0) for step, _ in points]
        top = [(step, base + value) for (step, value), (_, base) in zip(points, below, strict=True)]
        outline = " ".join(
            f"{frame.x(step)},{frame.y(value)}" for step, value in [*top, *reversed(below)]
        )
        told = f"<title>{text(one.label)}</title>"
        parts.append(
            f'<polygon class="f c{one.colour % NUM_COLOURS}" points="{outline}">{told}</polygon>'
        )
        floor = top
    return _svg([*parts, *_axes(frame)], frame, title)


def interval(difference: float, low: float, high: float, reach: float) -> str:
    """Return a measured effect with its interval as a small bar around zero.

    Args:
        difference: The effect.
        low: Lower end of its interval.
        high: Upper end of it.
        reach: What the bar's width shows, on either side of zero; above 0.
    """
    frame = Frame(120, 18, 0, 1, -reach, reach)

    def x(value: float) -> float:
        return round(60 + 56 * max(-1.0, min(1.0, value / reach)), 1)

    sign = "good" if low > 0 else "bad" if high < 0 else "open"
    parts = [
        '<line class="axis" x1="60" y1="1" x2="60" y2="17"/>',
        f'<line class="{sign}" x1="{x(low)}" y1="9" x2="{x(high)}" y2="9" stroke-width="3"/>',
        f'<circle class="{sign}" cx="{x(difference)}" cy="9" r="4"/>',
    ]
    return _svg(parts, frame, f"{difference:+.3f} from {low:+.3f} to {high:+.3f}", css="forest")


def thinned(points: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    """Return at most `MOST_POINTS` points, each the mean of its neighbours."""
    size = math.ceil(len(points) / MOST_POINTS)
    if size <= 1:
        return points
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [
        (group[len(group) // 2][0], sum(value for _, value in group) / len(group))
        for group in groups
    ]


def span(curves: Iterable[Curve]) -> tuple[float, float]:
    """Return a range that holds all values and has round numbers at its quarters."""
    values = [value for one in curves for _, value in one.points]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    quarter = _round_up(((high - low) or abs(high) or 1.0) / 4)
    floor = math.floor(low / quarter) * quarter
    while floor + 4 * quarter < high:
        quarter = _round_up(quarter * 1.01)
        floor = math.floor(low / quarter) * quarter
    return floor, floor + 4 * quarter


def text(words: str) -> str:
    """Return words as they may stand in a page, whatever they hold."""
    return escape(visible(words), quote=True)


def _pieces(points: Sequence[tuple[int, float]]) -> Iterable[list[tuple[int, float]]]:
    usual = min((after[0] - before[0] for before, after in pairwise(points)), default=1)
    piece: list[tuple[int, float]] = []
    for point in points:
        if piece and point[0] - piece[-1][0] > 2 * usual:
            yield piece
            piece = []
        piece.append(point)
    if piece:
        yield piece


def _polyline(points: Sequence[tuple[int, float]], frame: Frame, css: str) -> str:
    drawn = " ".join(f"{frame.x(step)},{frame.y(value)}" for step, value in points)
    if len(points) == 1:
        x, y = drawn.split(",")
        return f'<circle class="{css} dot" cx="{x}" cy="{y}" r="1.5"/>'
    return f'<polyline class="{css}" points="{drawn}"/>'


def _band(band: Band, frame: Frame) -> Iterable[str]:
    left, right = frame.x(band.first - 0.5), frame.x(band.last + 0.5)
    left, right = max(left, frame.left), min(right, frame.width - frame.right)
    css = "band planted" if band.planted else "band"
    height, width = frame.height - frame.bottom - frame.top, round(max(right - left, 0.5), 1)
    yield f"<g><title>{text(band.told)}</title>"
    yield f'<rect class="{css}" x="{left}" y="{frame.top}" width="{width}" height="{height}"/>'
    yield f'<line class="edge" x1="{left}" y1="{frame.top}" x2="{left}" y2="{frame.top + height}"/>'
    if right - left > 7 * len(band.label):
        yield f'<text x="{left + 3}" y="{frame.top + 12}">{text(band.label)}</text>'
    yield "</g>"


def _mark(mark: Mark, frame: Frame) -> Iterable[str]:
    x, y = frame.x(mark.step), frame.top - 4
    css = "open" if mark.good is None else "good" if mark.good else "bad"
    points = f"{x},{y} {x - 6},{y - 10} {x + 6},{y - 10}"
    yield f'<polygon class="{css}" points="{points}"><title>{text(mark.told)}</title></polygon>'
    yield (
        f'<line class="{css} thin" x1="{x}" y1="{y}" x2="{x}" y2="{frame.height - frame.bottom}"/>'
    )


def _axes(frame: Frame) -> list[str]:
    parts: list[str] = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        value = frame.low + (frame.high - frame.low) * share
        y = frame.y(value)
        parts.append(
            f'<line class="axis" x1="{frame.left}" y1="{y}" x2="{frame.width - frame.right}" '
            f'y2="{y}"/><text x="{frame.left - 5}" y="{y + 4}" text-anchor="end">{value:.3g}</text>'
        )
    room = (frame.width - frame.left - frame.right) / 55
    stride = math.ceil(_round_up(max((frame.last - frame.first) / max(room, 1), 1)))
    steps = {frame.first, *range(stride, frame.last + 1, stride)}
    for step in sorted(
        one for one in steps if one == frame.first or one - frame.first >= stride / 2
    ):
        y = frame.height - 8
        parts.append(f'<text x="{frame.x(step)}" y="{y}" text-anchor="middle">{step}</text>')
    return parts


def _round_up(least: float) -> float:
    """Return the smallest round number that is at least so large."""
    decade = 10.0 ** math.floor(math.log10(least))
    return next(decade * one for one in (1, 2, 2.5, 5, 10) if decade * one >= least)


def _svg(parts: Iterable[str], frame: Frame, title: str, *, css: str = "chart") -> str:
    head = (
        f'<svg class="{css}" viewBox="0 0 {frame.width} {frame.height}" role="img" '
        f'aria-label="{text(title)}">'
    )
    return "\n".join([head, *parts, "</svg>"])
