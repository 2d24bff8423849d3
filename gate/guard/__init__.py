"""The guard: the one door through which a running trainer takes up changes."""

from gate.guard.guard import Guard
from gate.guard.status import KnobStatus, ProposalOutcome

__all__ = ["Guard", "KnobStatus", "ProposalOutcome"]
