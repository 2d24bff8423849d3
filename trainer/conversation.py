"""How users and agents talked: the measures by which a knob of the user shows that it works.

Pure functions of finished episodes. A measure that has nothing to count is left out, never zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainer.episode import Episode, Speaker, StopReason, Turn, Voice

_ASKING = ("ask", "both")
_UNASKED = ("none", "spent", "withdrawn")


def measure(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the measures of `gate.contract.records.CONVERSATION` over finished episodes."""
    turns = [turn for one in episodes for turn in one.turns]
    replies = [turn for turn in turns if turn.voice is not None]
    told = [turn for turn in replies if turn.revealed]
    asked = [turn for turn in replies if turn.private.get("act") in _ASKING]
    acted = [turn for turn in turns if turn.speaker is Speaker.AGENT]
    measures = {
        "symbolic_share": _share(one.arm is Voice.SYMBOLIC for one in episodes),
        "facts_per_reply": _mean(len(turn.revealed) for turn in told),
        "reveals_per_fact": _mean(_reveals(episodes)),
        "unmatched_share": _share(turn.private.get("match") == "none" for turn in asked),
        "volunteered_share": _share(_volunteered(turn) for turn in told),
        "reply_chars": _mean(len(turn.text) for turn in replies),
        "cap_hit_share": _share(one.stop is StopReason.OUT_OF_STEPS for one in episodes),
        "malformed_share": _ratio(_count_malformed(turns), len(acted)),
    }
    return {name: round(value, 6) for name, value in measures.items() if value is not None}


def _reveals(episodes: Iterable[Episode]) -> Iterable[float]:
    """Yield, for every fact that an episode disclosed, how often it was told there."""
    for episode in episodes:
        told = [fact for turn in episode.turns for fact in turn.revealed]
        yield from (float(told.count(fact)) for fact in dict.fromkeys(told))


def _volunteered(turn: Turn) -> bool:
    return turn.private.get("act") not in _ASKING or turn.private.get("match") in _UNASKED


def _count_malformed(turns: Iterable[Turn]) -> int:
    return sum("malformed" in turn.events for turn in turns)


def _share(flags: Iterable[bool]) -> float | None:
    return _mean(float(flag) for flag in flags)


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return _ratio(sum(listed), len(listed))


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole else None
