"""An experiment has a few launches, and no more: luck must not be drawn until it comes.

Every launch counts, aborted ones included.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding
from gate.contract.launch_record import MOST_ATTEMPTS
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence=f"A run is at most launch {MOST_ATTEMPTS} of its experiment, counted over its "
    "parents.",
    answers="EAU: at most five runs in an experiment; wandb/senpai PR#1007: luck of the seed "
    "counted as a win.",
    by_hand="silent",
)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding if the run is beyond the budget of its experiment."""
    attempt = change_set.known.attempt
    if change_set.proposal is not None and attempt > MOST_ATTEMPTS:
        yield change_set.finding(
            "restart-budget",
            "run",
            f"This run is launch {attempt} of its experiment; {MOST_ATTEMPTS} are allowed.",
            "Draw the conclusion from the runs there are, and begin a new experiment.",
            value=attempt,
            limit=MOST_ATTEMPTS,
        )
