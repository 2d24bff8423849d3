"""Strategy labels: what a user privately meant by a reply.

The closed vocabulary of Faca's table 1. A label is recorded with the turn and never shown to the
agent; what a label is worth belongs to credit assignment, not here.
"""

from __future__ import annotations

from enum import StrEnum


class Strategy(StrEnum):
    """What a reply does with the agent's last segment."""

    CONFIRM = "confirm"
    CLOSE = "close"
    REVEAL_PIECE = "reveal_piece"
    BE_VAGUE = "be_vague"
    INVALID = "invalid"
    """No usable label: unreadable, unknown, or a reply out of role."""
    ASK_CLARIFICATION = "ask_clarification"
    CHALLENGE_SOLUTION = "challenge_solution"
    CHANGE_MIND = "change_mind"


def read_strategy(label: object) -> Strategy:
    """Return the strategy that a model's word names, INVALID if it names none.

    Case does not matter, and hyphens and spaces stand for underscores.
    """
    if not isinstance(label, str):
        return Strategy.INVALID
    name = label.strip().lower().replace("-", "_").replace(" ", "_")
    try:
        return Strategy(name)
    except ValueError:
        return Strategy.INVALID
