"""The charts of a page about a run: which numbers of its records are drawn, and how.

Success by who played the user and by side, with what was in force and what was found; how episodes
ended; how the learner is. How a chart looks belongs to `trainer.looking.report.charts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from gate.contract import experiments
from gate.contract.ledger import Revision, RevisionKind
from gate.contract.sides import Side
from trainer.episode import StopReason
from trainer.looking.origin import origin
from trainer.looking.reading import Reading, mapping, number
from trainer.looking.report.charts import Band, Curve, Frame, Mark, areas, lines, span
from trainer.looking.report.page import figure
from trainer.looking.success import EVERYBODY, in_force, shares
from trainer.looking.wording import interval, moved

ANCHOR_COLOUR, OLD_COLOUR = 5, 7
MOST_ARMS = 4
"""Who played the user, at most, that a curve is drawn for."""
ENDING_COLOURS = (3, 7, 1, 4, 0, 2, 6, 5)
"""Colours of stop reasons, that of `solved` first."""
MOST_ENDINGS = 7
"""Stop reasons that have a colour of their own; the rest are one."""
LEARNER = (
    ("entropy of the policy", ("entropy",)),
    ("KL to the reference", ("kl",)),
    ("norms of the gradients", ("actor_grad_norm", "critic_grad_norm")),
    ("variance that the critic explains", ("explained_variance",)),
)
"""Charts of the learner: what one shows, and the metrics that it draws."""


class Spread(NamedTuple):
    """Which steps a chart spans."""

    first: int
    last: int


def success(reading: Reading) -> list[str]:
    """Return the chart of success, wide for a screen and narrow for a telephone."""
    curves, spread = list(_success(reading)), _spread(reading)
    if not curves:
        return []
    bands, marks = list(_bands(reading, spread)), list(_marks(reading))
    title = "success by training step"
    drawn = [
        f'<div class="{css}">'
        + lines(curves, frame, title=title, bands=bands, marks=marks, smooth=True)
        + "</div>"
        for css, frame in (
            ("wide", Frame(1080, 340, *spread, 0.0, 1.0)),
            ("narrow", Frame(380, 280, *spread, 0.0, 1.0, left=36)),
        )
    ]
    caption = (
        "Mean success of a step, pale, and its mean over 5 steps; dashed, what it is compared "
        "with. Shaded: the revision in force, red where a fault was planted. A triangle is a "
        "verdict: green help, red harm, ochre neither."
    )
    return [figure("".join(drawn), caption, curves)]


def endings(reading: Reading) -> list[str]:
    """Return the chart of how episodes ended, as shares of a step's episodes."""
    counts = {
        one["step"]: {
            str(reason): count
            for reason, found in mapping(one.get("stop_reasons")).items()
            if (count := number(found))
        }
        for one in reading.steps
    }
    counts = {step: found for step, found in counts.items() if found}
    totals: dict[str, float] = {}
    for found in counts.values():
        for reason, count in found.items():
            totals[reason] = totals.get(reason, 0.0) + count
    if not totals:
        return []
    # What is wished for stands on the floor, whichever is most frequent.
    ranked = sorted(totals, key=lambda reason: (reason != StopReason.SOLVED, -totals[reason]))
    named = {reason: reason for reason in ranked[: MOST_ENDINGS - (len(ranked) > MOST_ENDINGS)]}
    labels = list(dict.fromkeys(named.get(reason, "others") for reason in ranked))
    layers = [
        Curve(
            label.replace("_", " "),
            [(step, _share(found, label, named)) for step, found in sorted(counts.items())],
            ENDING_COLOURS[index if StopReason.SOLVED in totals else index + 1],
        )
        for index, label in enumerate(labels)
    ]
    drawn = [
        f'<div class="{css}">{areas(layers, frame, title="endings by training step")}</div>'
        for css, frame in (
            ("wide", Frame(1080, 240, *_spread(reading), 0.0, 1.0)),
            ("narrow", Frame(380, 220, *_spread(reading), 0.0, 1.0, left=36)),
        )
    ]
    return [figure("".join(drawn), "Share of a step's episodes by why they ended.", layers)]


def learner(reading: Reading) -> list[str]:
    """Return the charts of how the learner is."""
    drawn: list[str] = []
    for caption, names in LEARNER:
        curves = [
            Curve(name.replace("_", " "), points, index)
            for index, name in enumerate(names)
            if (points := _points(reading, name))
        ]
        if curves:
            low, high = span(curves)
            frame = Frame(500, 190, *_spread(reading), low, high, left=52, top=12)
            drawn.append(figure(lines(curves, frame, title=caption), f"{caption}.", curves))
    return [f'<div class="grid">{"".join(drawn)}</div>'] if drawn else []


def _success(reading: Reading) -> Iterator[Curve]:
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for record in reading.steps:
        for one in in_force(shares(record)):
            found.setdefault((one.side, one.arm), []).append((record["step"], one.success))
    arms = sorted(arm for side, arm in found if side == Side.IN_FORCE)[:MOST_ARMS]
    for index, arm in enumerate(arms):
        yield Curve(f"{arm}, in force", found[Side.IN_FORCE.value, arm], index)
    for arm in arms:
        if points := found.get((Side.OLD.value, arm)):
            yield Curve(f"{arm}, old side of a test", points, OLD_COLOUR, dashed=True)
    if points := found.get((Side.ANCHOR.value, EVERYBODY)):
        yield Curve("anchors", points, ANCHOR_COLOUR, dashed=True)


def _bands(reading: Reading, spread: Spread) -> Iterator[Band]:
    known = [one for one in _revisions(reading) if one.step <= spread.last]
    for one, after in zip_longest(known, known[1:]):
        last = spread.last if after is None else after.step - 1
        first = max(one.step, spread.first)
        if last >= first:
            came = origin(one)
            told = f"revision {one.number} from step {one.step}: {came}. {moved(came.changes)}"
            planted = one.kind is RevisionKind.PLANTED
            yield Band(first, last, f"r{one.number}", told, planted)


def _marks(reading: Reading) -> Iterator[Mark]:
    for one in experiments.outcomes(reading.entries):
        good = {"help": True, "harm": False, "safety_rollback": False}.get(one.verdict)
        measured = mapping(one.effect)
        size = f" by {interval(measured)}" if measured else ""
        yield Mark(
            one.step, good, f"step {one.step}: {one.verdict} of revision {one.revision}{size}"
        )


def _revisions(reading: Reading) -> Sequence[Revision]:
    return reading.past.revisions if reading.past is not None else ()


def _points(reading: Reading, name: str) -> list[tuple[int, float]]:
    found = ((one["step"], number(mapping(one.get("learner")).get(name))) for one in reading.steps)
    return [(step, value) for step, value in found if value is not None]


def _share(found: Mapping[str, float], label: str, named: Mapping[str, str]) -> float:
    mine = sum(count for reason, count in found.items() if named.get(reason, "others") == label)
    return mine / sum(found.values())


def _spread(reading: Reading) -> Spread:
    known = [one["step"] for one in reading.steps] or [1]
    return Spread(known[0], max(known[-1], known[0] + 1))
