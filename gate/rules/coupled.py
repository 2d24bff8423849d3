"""The pull to the reference policy and a learning rate do not both jump in one write.

Each alone is within its step size; together they change the update by their product, and no
record could tell which of them did what. A stated reason allows it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding
from gate.rules.change_set import ChangeSet, Move
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="The pull to the reference policy and a learning rate do not both grow tenfold in one"
    " write without a reason.",
    answers="ms-swift#3136, verl#2626: an update diverges, and one token comes for ever.",
)

FACTOR = 10.0
"""How many times a value must grow to count as a jump."""

PULL = "agent.kl_coeff"
RATES = ("agent.actor_lr", "agent.critic_lr")

# A factor of ten must count as ten whichever way its floats were rounded.
_SLACK = 1e-9


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding if both jump and nobody says why."""
    if change_set.reason.strip():
        return
    jumps = {move.path: move for move in change_set.moves if _jumps(move)}
    rates = [path for path in RATES if path in jumps]
    if PULL not in jumps or not rates:
        return
    yield change_set.finding(
        "coupled",
        PULL,
        f"{PULL} and {' and '.join(rates)} grow {FACTOR:g} times or more in one write.",
        "Change one of them and look at its effect before the other.",
        value=jumps[PULL].new,
        limit=FACTOR,
    )


def _jumps(move: Move) -> bool:
    if move.path != PULL and move.path not in RATES:
        return False
    return move.old > 0 and move.new / move.old >= FACTOR * (1 - _SLACK)
