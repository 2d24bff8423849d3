"""One kind of figure: curves of success over training steps, as an SVG that any page can show.

Pure text in, pure text out; it follows the reader's light or dark theme and needs no library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 52, 120, 28, 40
COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#9c6b4e", "#a463f2")
SMOOTH_STEPS = 5
"""Steps in the running mean that is drawn; the raw values stand behind it, pale."""


def curves_svg(curves: Mapping[str, Sequence[float]], *, title: str) -> str:
    """Return a figure of curves in [0, 1] over steps counted from 1.

    Args:
        curves: Values by label, one each step; drawn in the given order.
        title: What the figure shows, in a sentence.
    """
    longest = max((len(values) for values in curves.values()), default=1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12" aria-label="{escape(title, quote=True)}">',
        "<style>text{fill:#444}line{stroke:#ccc}@media(prefers-color-scheme:dark)"
        "{text{fill:#ccc}line{stroke:#444}}</style>",
        f'<text x="{LEFT}" y="16" font-size="13">{escape(title)}</text>',
        *_axes(longest),
    ]
    for index, (label, values) in enumerate(curves.items()):
        colour = COLOURS[index % len(COLOURS)]
        parts.append(_line(values, longest, colour, width=1, opacity=0.3))
        parts.append(_line(running_mean(values, SMOOTH_STEPS), longest, colour, width=2))
        y = TOP + 14 + 18 * index
        parts.append(
            f'<text x="{WIDTH - RIGHT + 14}" y="{y}" style="fill:{colour}">{escape(label)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def running_mean(values: Sequence[float], steps: int) -> list[float]:
    """Return the mean of each value and up to `steps - 1` before it."""
    windows = [values[max(0, end - steps) : end] for end in range(1, len(values) + 1)]
    return [sum(window) / len(window) for window in windows]


def _axes(longest: int) -> list[str]:
    parts: list[str] = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(tick)
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{tick:.2f}</text>')
    stride = max(1, round(longest / 5 / 5) * 5 or 1)
    for step in (1, *range(stride, longest + 1, stride)):
        x = _x(step, longest)
        parts.append(f'<text x="{x}" y="{HEIGHT - 20}" text-anchor="middle">{step}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">step</text>')
    return parts


def _line(
    values: Sequence[float], longest: int, colour: str, *, width: float, opacity: float = 1.0
) -> str:
    points = " ".join(
        f"{_x(step, longest)},{_y(value)}" for step, value in enumerate(values, start=1)
    )
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" '
        f'stroke-width="{width}" stroke-opacity="{opacity}"/>'
    )


def _x(step: int, longest: int) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * (step - 1) / max(longest - 1, 1), 1)


def _y(value: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * max(0.0, min(1.0, value)), 1)
