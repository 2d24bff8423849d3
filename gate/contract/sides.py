"""Sides: under which values an episode was played, as a closed vocabulary.

A batch may hold episodes under the values in force, under the two sides of an open test, and
under those of the launch. What is compared with what belongs to `gate.effects`.
"""

from __future__ import annotations

from enum import StrEnum


class Side(StrEnum):
    """Under which values an episode was played."""

    IN_FORCE = "in_force"
    """The values in force, while no test splits the batch."""
    OLD = "old"
    """The values before a change that is being tested."""
    NEW = "new"
    """The values in force, in a batch that a test splits."""
    ANCHOR = "anchor"
    """Revision 0 of world and user, whatever is in force."""
