"""Windows: the training steps that a proposal in force asked to be left alone for.

What is said here follows from the ledger's revisions alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.contract.ledger import Revision, RevisionKind


@dataclass(frozen=True)
class Window:
    """The steps in which the effect of one proposal is to be told."""

    proposal: int
    revision: int
    first_step: int
    steps: int
    knobs: frozenset[str]
    """Declared paths of the knobs that it changed."""
    concurrent: bool = False

    @property
    def last_step(self) -> int:
        """The last training step of it."""
        return self.first_step + self.steps - 1


def open_at(step: int, revisions: Sequence[Revision]) -> tuple[Window, ...]:
    """Return the windows that a training step lies in, oldest first.

    A window ends with its last step, or when its revision is taken back.

    Args:
        step: The training step about to begin.
        revisions: All revisions in force, oldest first.
    """
    taken_back = {
        revision.details["reverts"]
        for revision in revisions
        if revision.kind is RevisionKind.REVERT
    }
    windows = [
        Window(
            proposal=revision.details["proposal"]["number"],
            revision=revision.number,
            first_step=revision.step,
            steps=revision.details["proposal"]["window"],
            knobs=frozenset(change.knob for change in revision.changes),
            concurrent=revision.details["proposal"]["concurrent"],
        )
        for revision in revisions
        if revision.kind is RevisionKind.PROPOSAL and revision.number not in taken_back
    ]
    return tuple(window for window in windows if step <= window.last_step)
