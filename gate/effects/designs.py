"""Designs: how a change is compared with its absence, declared before the test opens.

The scope of a knob decides. What acts while episodes are played is compared within each batch;
what acts through learning needs time, and its expected lag is known from its declaration. Windows,
margin and moments of judgement are fixed at the opening: none may be chosen after the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gate.contract.knobs import Scope
from gate.effects.layouts import Layout

BASELINE_STEPS = 30
"""Steps before the change that a comparison over time rests on."""

SHORTEST_WINDOW = 5
"""Steps under the new values below which nothing is estimated."""

MARGIN = 0.05
"""Success rate that is material; a smaller effect counts as none."""


class Design(StrEnum):
    """How new values are compared with old ones."""

    CONCURRENT_ARMS = "concurrent_arms"
    """Both at once: each batch is split by chance, under one policy."""
    REVERSAL = "reversal"
    """Old, new, old again (ABA), switched at steps drawn before the test opened."""
    BEFORE_AFTER = "before_after"
    """Old, then new once the lag has passed (AB)."""
    FORKED_TWINS = "forked_twins"
    """Two runs from one checkpoint with the same tasks and seeds, compared step by step."""

    @property
    def is_free_of_trend(self) -> bool:
        """Whether a run that improves by itself looks like no effect; AB alone is fooled."""
        return self is not Design.BEFORE_AFTER


def design_for(scope: Scope, *, splittable: bool = True, can_fork: bool = False) -> Design:
    """Return the design that a change should be tested with.

    Args:
        scope: What takes the change up.
        splittable: Whether one batch can hold episodes under both values.
        can_fork: Whether the budget allows two child runs.
    """
    if scope is Scope.LEARNER:
        return Design.FORKED_TWINS if can_fork else Design.BEFORE_AFTER
    return Design.CONCURRENT_ARMS if splittable else Design.REVERSAL


@dataclass(frozen=True)
class Declaration:
    """What was fixed before a test opened."""

    design: Design
    opened: int
    """The first training step of the test."""
    window: int
    """Steps to be measured: under the new values, or in all phases of a reversal together."""
    lag: int = 0
    """Steps after the opening in which an effect cannot be expected yet; they are not measured."""
    baseline: int = BASELINE_STEPS
    """Steps before the opening that are compared with; used by `BEFORE_AFTER` alone."""
    margin: float = MARGIN
    """Effect that is material, in the unit of success."""
    layout: Layout | None = None
    """The switches of a reversal."""
    shortest_phase: int = SHORTEST_WINDOW + 1
    """Steps of each phase of a reversal, at least, washout included."""
    washout: int = 1
    """Steps after each switch of a reversal that do not count."""

    def __post_init__(self) -> None:
        """Refuse a test that could not be evaluated as declared.

        Raises:
            ValueError: naming the number that does not fit, and what to do.
        """
        if self.window < SHORTEST_WINDOW:
            raise ValueError(
                f"a window of {self.window} steps shows nothing; use {SHORTEST_WINDOW} or more"
            )
        if self.lag < 0 or not self.margin > 0:
            raise ValueError(
                f"lag {self.lag} must be 0 or more and margin {self.margin} above 0; "
                "take the lag from the knob's declaration"
            )
        if (self.design is Design.REVERSAL) != (self.layout is not None):
            raise ValueError(
                "a reversal, and nothing else, has a layout; draw it before the test opens "
                "(layouts.draw)"
            )
        if not 0 <= self.washout < self.shortest_phase:
            raise ValueError(
                f"a washout of {self.washout} leaves nothing of a phase of "
                f"{self.shortest_phase} steps; lengthen the phases"
            )

    @property
    def ready_after(self) -> int:
        """Steps after the opening at which it is judged for the first time."""
        return self.lag + self.window

    @property
    def horizon(self) -> int:
        """Steps after the opening at which it is judged for the last time."""
        return 2 * self.ready_after

    @property
    def looks(self) -> tuple[int, int]:
        """The two moments of judgement; looking more often finds effects that are not there.

        The harm process and the tripwires are made for looking at every step, and do.
        """
        return (self.ready_after, self.horizon)

    @property
    def steps_before(self) -> range:
        """The training steps that a comparison over time starts from."""
        return range(max(1, self.opened - self.baseline), self.opened)

    def steps_under(self, elapsed: int) -> range:
        """Return the training steps that are measured once so many steps have passed."""
        return range(self.opened + self.lag, self.opened + elapsed)
