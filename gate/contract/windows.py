"""Windows: the training steps in which the effect of one change is to be told.

A proposal in force asks for one, and a test that is open needs one, whoever made the change.
What is said here follows from the ledger alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gate.contract.experiments import Experiment
from gate.contract.ledger import Revision, RevisionKind


@dataclass(frozen=True)
class Window:
    """The steps in which nothing else should change."""

    proposal: int | None
    """The proposal that made the change; None for one that came by another door."""
    revision: int
    first_step: int
    steps: int
    knobs: frozenset[str]
    """Declared paths of the knobs that it changed, and `world.<name>` for each world."""
    concurrent: bool = False

    @property
    def last_step(self) -> int:
        """The last training step of it."""
        return self.first_step + self.steps - 1


def open_at(
    step: int,
    revisions: Sequence[Revision],
    tests: Sequence[Experiment] = (),
    *,
    extended: Collection[int] = (),
) -> tuple[Window, ...]:
    """Return the windows that a training step lies in, oldest first.

    A window ends with its last step, when its test is over, or when its revision is taken back.

    Args:
        step: The training step about to begin.
        revisions: All revisions in force, oldest first.
        tests: The tests that are open; the window of one counts, not what its proposal asked for.
        extended: Numbers of the tests that go on to their horizon.
    """
    taken_back = {revision.details.get("reverts") for revision in revisions}
    tested = {test.revision: test for test in tests if test.revision not in taken_back}
    by_test = [
        Window(
            proposal=test.proposal,
            revision=revision.number,
            first_step=test.opened,
            steps=test.horizon if test.number in extended else test.ready_after,
            knobs=_moved(revision),
        )
        for revision in revisions
        if (test := tested.get(revision.number)) is not None
    ]
    asked = [
        Window(
            proposal=revision.details["proposal"]["number"],
            revision=revision.number,
            first_step=revision.step,
            steps=revision.details["proposal"]["window"],
            knobs=_moved(revision),
            concurrent=revision.details["proposal"]["concurrent"],
        )
        for revision in revisions
        if revision.kind is RevisionKind.PROPOSAL
        and revision.number not in taken_back
        and revision.number not in tested
    ]
    found = sorted([*by_test, *asked], key=lambda window: window.revision)
    return tuple(window for window in found if step <= window.last_step)


def _moved(revision: Revision) -> frozenset[str]:
    worlds = (f"world.{world}" for world in revision.details.get("worlds", ()))
    return frozenset([*(change.knob for change in revision.changes), *worlds])
