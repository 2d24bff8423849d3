"""Which dialogues of a run are worth reading: a usual success, a failure, one around the fault.

Only a few files of episodes are read, however long the run is. Nothing here shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gate.contract import files
from gate.contract.ledger import Revision, RevisionKind
from trainer.looking.reading import Reading, number

NEWEST_STEPS = 3
"""Steps at the end of the run whose episodes are looked through."""
AFTER_FAULT = range(3, 6)
"""Steps after a fault came into force whose episodes are looked through."""


class Chosen(NamedTuple):
    """One dialogue, with why it was chosen."""

    why: str
    episode: dict[str, Any]


def chosen(reading: Reading) -> list[Chosen]:
    """Return the dialogues worth reading, each once.

    The usual one of several is that with the median number of turns; so nobody picks the best.
    """
    known = [one["step"] for one in reading.steps]
    newest = _episodes(reading, known[-NEWEST_STEPS:])
    told = f"steps {known[-NEWEST_STEPS:][0]} to {known[-1]}" if known else ""
    wanted = [
        (f"a usual success, of {told}", _usual(one for one in newest if _success(one) == 1.0)),
        (f"a usual failure, of {told}", _usual(one for one in newest if _failed(one))),
    ]
    fault = fault_of(reading)
    if fault is not None:
        after = _episodes(reading, [fault.step + one for one in AFTER_FAULT])
        after = [one for one in after if one.get("revision") == fault.number]
        what = "the planted fault" if fault.kind is RevisionKind.PLANTED else "a change that harmed"
        told = f"under {what}, revision {fault.number} of step {fault.step}"
        wanted.append((told, _usual(one for one in after if _failed(one))))
    return [Chosen(why, one) for why, one in wanted if one is not None]


def fault_of(reading: Reading) -> Revision | None:
    """Return the first revision that was planted as a fault or taken back as one; None if none."""
    past = reading.past
    if past is None:
        return None
    harmed = {one.revision for one in past.effects if one.rolled_back_by is not None}
    for one in past.revisions:
        if one.kind is RevisionKind.PLANTED or one.number in harmed:
            return one
    return None


def _episodes(reading: Reading, steps: Iterable[int]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for step in steps:
        records = files.read_lines(reading.paths.episodes_of(step)).records
        found += [one for one in records if one.get("side") != "anchor"]
    return found


def _usual(episodes: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    ordered = sorted(episodes, key=_length)
    return ordered[len(ordered) // 2] if ordered else None


def _length(episode: dict[str, Any]) -> int:
    turns = episode.get("turns")
    return len(turns) if isinstance(turns, Sequence) else 0


def _success(episode: dict[str, Any]) -> float | None:
    return number(episode.get("success"))


def _failed(episode: dict[str, Any]) -> bool:
    found = _success(episode)
    return episode.get("outcome") == "finished" and found is not None and found < 1.0
