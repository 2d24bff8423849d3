"""No reply holds the reference answer: not its words in a row, and not most of its words.

Compared across all kinds of fact, since a filter on one kind says nothing about the others; the
finding names the kinds that the worst reply told.
"""

from __future__ import annotations

from typing import NamedTuple

from trainer.probe.interview import Exchange, interrogations
from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.reference import Likeness, likeness
from trainer.probe.subject import Subject, Version

NAME = "overlap"
MOST_SHARE = 0.6
"""Share of the reference's own words that one reply may hold."""
MOST_IN_A_ROW = 40
"""Characters in a row that a reply and the reference may share."""


class _Worst(NamedTuple):
    badness: float
    likeness: Likeness
    exchange: Exchange


def check(subject: Subject, version: Version) -> Outcome:
    """Hold every reply of all interviews against what the task hides.

    Source:
        EAU: the filter tested the kind `shape` (8% of the facts), the leaks had the kind `return`
        (18%); normalised substring of 40 characters, or .6 of the tokens.
    """
    worst: _Worst | None = None
    for one in interrogations(subject, version):
        found_here = likeness(one.task, one.reply)
        badness = max(found_here.share / MOST_SHARE, found_here.in_a_row / MOST_IN_A_ROW)
        if worst is None or badness > worst.badness:
            worst = _Worst(badness, found_here, one)
    if worst is None:
        return found(0.0)
    if worst.badness < 1.0:
        return found(worst.badness)
    return found(worst.badness, [_finding(subject, worst)])


def _finding(subject: Subject, worst: _Worst):
    reply, like = worst.exchange.reply, worst.likeness
    kinds = {fact.kind for fact in worst.exchange.task.facts if fact.id in reply.revealed}
    by_share = like.share / MOST_SHARE >= like.in_a_row / MOST_IN_A_ROW
    what = f"{like.share:.2f} of" if by_share else f"{like.in_a_row} characters in a row of"
    return finding(
        NAME,
        f"One reply of {len(reply.text)} characters in {worst.exchange.task.id} of {subject.name} "
        f"holds {what} {like.what}; it tells {len(reply.revealed)} facts of the kinds "
        f"{', '.join(sorted(kinds)) or 'none'}.",
        "Lower user.facts_per_reply, or withhold these kinds with user.reveal_kinds.",
        path="user.facts_per_reply",
        value=round(like.share, 4) if by_share else like.in_a_row,
        limit=MOST_SHARE if by_share else MOST_IN_A_ROW,
    )
