"""The guard: the one door through which a running trainer takes up changes."""

from gate.contract.ledger import Revision
from gate.guard.guard import Guard
from gate.guard.planting import plant
from gate.guard.probing import Prober
from gate.guard.status import Condition, EffectTold, KnobStatus, OpenTest, ProposalOutcome

__all__ = [
    "Condition",
    "EffectTold",
    "Guard",
    "KnobStatus",
    "OpenTest",
    "Prober",
    "ProposalOutcome",
    "Revision",
    "plant",
]
