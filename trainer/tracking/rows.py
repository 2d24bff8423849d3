"""What of a run is due to a tracker: the steps that it has not been told, with their marks.

A step is told once, by its number: one that comes again, in a run whose file of steps was cut, is
passed over, and the tracker keeps what it was told first. A mark is a line of the run's history, a
revision or an outcome, and goes with the first step after it. Nothing here writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gate.contract import files
from trainer.looking import chronicle
from trainer.looking.chronicle import Line
from trainer.looking.reading import Reading, mapping, number
from trainer.show import visible
from trainer.tracking.cursor import Cursor
from trainer.tracking.flattening import WHEN, numbers
from trainer.tracking.tracker import About, Row

FACTS = ("recipe", "seed", "commit", "parent", "attempt")
"""What tells runs apart: of the launch record, and the recipe's name and seed."""


class Due(NamedTuple):
    """One row to write."""

    row: Row
    cursor: Cursor
    """How far the run has been followed with it."""


def due(reading: Reading, cursor: Cursor, *, last: bool = False) -> Iterator[Due]:
    """Yield what is to be written, by step.

    Args:
        reading: The run.
        cursor: How far it has been followed.
        last: Whether no step will follow: marks that wait for one are told at the newest step.
    """
    new = [one for one in reading.steps if one["step"] > cursor.step]
    if not new and not last:
        return
    waiting = [one for one in chronicle.lines(reading) if one.seq > cursor.seq]
    for record in new:
        step, told = record["step"], list[str]()
        while waiting and waiting[0].step <= step:
            told += mark(one := waiting.pop(0))
            cursor = cursor._replace(seq=one.seq)
        cursor = cursor._replace(step=step)
        yield Due(Row(step, number(record.get(WHEN)), numbers(record), tuple(told)), cursor)
    if last and waiting:
        told = [text for one in waiting for text in mark(one)]
        cursor = cursor._replace(seq=waiting[-1].seq)
        if told:
            yield Due(Row(cursor.step, waiting[-1].time, {}, tuple(told)), cursor)


def mark(line: Line) -> Iterator[str]:
    """Yield a line of the history in words, if it is a revision in force or an outcome."""
    if line.kind in ("revision", "outcome"):
        word = line.word.upper() if line.verdict else f"{line.word} {line.revision}"
        text = f"step {line.step}  {word}  {line.text}" + (f"  ({line.reason})" * bool(line.reason))
        yield visible(" ".join(text.split("\n")))


def about(reading: Reading) -> About:
    """Return what a tracker is told of a run as a whole."""
    config = mapping(reading.launch.get("config"))
    known: Mapping[str, object] = {
        **reading.launch,
        "recipe": config.get("name"),
        "seed": config.get("seed"),
    }
    facts = {name: value for name in FACTS if isinstance(value := known.get(name), str | int)}
    digest = files.content_digest(f"{reading.run} {reading.launch.get('launched')}".encode())
    plain = "".join(one if one.isalnum() and one.isascii() else "-" for one in reading.run)
    return About(reading.run, f"{plain[:100]}-{digest[:8]}", facts)
