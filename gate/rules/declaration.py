"""What every rule says of itself: its sentence, whom it binds, and what it answers.

`docs/gate.md` is made from these; nothing is decided by them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Declaration:
    """One rule in words."""

    sentence: str
    """What must hold."""
    answers: str
    """The public report, or the published incident, that it answers."""
    by_hand: str = "binds"
    """What it is to a person who edits a live file: it `binds`, `warns` or is `silent`."""
