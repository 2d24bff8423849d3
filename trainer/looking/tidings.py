"""Events in words: one line each, those of one kind in one step together.

Every kind of event has a short wording here or is told by its detail, so that a new kind is never
left out. This module reads no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from trainer.looking.reading import Record, mapping
from trainer.looking.wording import decisive, moved, value

TROUBLE = frozenset(
    "quarantined dropped unscored user_failed judge_failed engine_lost engine_unreachable "
    "disk_full knob_refused knob_vanished proposal_refused breach resume_difference "
    "checkpoint_rejected update_failed no_update constant_reward weights_resent "
    "fault_planted".split()
)
"""Kinds of events that somebody should look at."""

CHANGES = frozenset(
    "knob_adopted proposal_adopted world_swapped verdict test_opened engine_restart".split()
)
"""Kinds of events by which something came into force or was found."""


class Tiding(NamedTuple):
    """Events of one kind in one step, or the same in several steps in a row."""

    first: int
    """The first step."""
    step: int
    """The last step."""
    kind: str
    count: int
    text: str

    @property
    def style(self) -> str:
        """How its kind looks on a terminal."""
        return "red" if self.kind in TROUBLE else "magenta" if self.kind in CHANGES else "dim"


def tidings(events: Iterable[Record]) -> list[Tiding]:
    """Return what events tell, oldest first."""
    found: list[Tiding] = []
    for (step, kind), group in groupby(events, lambda one: (one.get("step"), one["kind"])):
        details = [mapping(one.get("detail")) for one in group]
        known = step if isinstance(step, int) else 0
        text, first, before = _told(kind, details), known, 0
        if found and (found[-1].kind, found[-1].text) == (kind, text):
            first, before = found[-1].first, found.pop().count
        found.append(Tiding(first, known, kind, before + len(details), text))
    return found


def _told(kind: str, details: Sequence[Mapping[str, Any]]) -> str:
    if len(details) == 1 and kind in _WORDS:
        return _WORDS[kind](details[0])
    if kind in ("quarantined", "dropped"):
        reasons = sorted({str(one.get("stop")) for one in details})
        return f"{len(details)} episodes: {', '.join(reasons)}"
    return ", ".join(f"{name} {value(part)}" for name, part in details[0].items())


def _proposal(detail: Mapping[str, Any]) -> str:
    outcome = mapping(detail.get("outcome"))
    if outcome.get("revision") is not None:
        changes = moved([mapping(one) for one in outcome.get("changes") or ()])
        return f"proposal {outcome.get('proposal')}, revision {outcome['revision']}: {changes}"
    return f"proposal {outcome.get('proposal')}: {_first(outcome)}"


def _first(detail: Mapping[str, Any]) -> str:
    """Return the finding that decided an event in a sentence."""
    return decisive([mapping(one) for one in detail.get("findings") or ()])


def _verdict(detail: Mapping[str, Any]) -> str:
    back = detail.get("rolled_back_by")
    end = "" if back is None else f"; revision {back} took it back"
    return f"{detail.get('verdict')} of revision {detail.get('revision')}{end}: " + value(
        detail.get("because", ""), most=200
    )


def _adopted(detail: Mapping[str, Any]) -> str:
    return f"revision {detail.get('revision')}: " + moved(
        [mapping(one) for one in detail.get("changes") or ()]
    )


def _opened(detail: Mapping[str, Any]) -> str:
    head = f"test {detail.get('experiment')} of revision {detail.get('revision')}"
    if not detail.get("judged"):
        return f"{head} cannot be judged: {detail.get('because')}"
    return f"{head}: {str(detail.get('design')).replace('_', ' ')}, {detail.get('window')} steps"


def _planted(detail: Mapping[str, Any]) -> str:
    return str(detail.get("said", ""))


def _written(detail: Mapping[str, Any]) -> str:
    return str(detail.get("directory", ""))


def _ended(detail: Mapping[str, Any]) -> str:
    reason = f": {detail['reason']}" if detail.get("reason") else ""
    return f"{detail.get('ending')}{reason}"


_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "checkpoint": _written,
    "fault_planted": _planted,
    "knob_adopted": _adopted,
    "knob_refused": _first,
    "knob_vanished": _first,
    "proposal_adopted": _proposal,
    "proposal_refused": _proposal,
    "test_opened": _opened,
    "verdict": _verdict,
    "run_finished": _ended,
}
