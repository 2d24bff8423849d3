"""Change sets with an edited world for the rules, over the gate's own sample."""

from __future__ import annotations

from typing import Any

from gate import rules, sample_world, selftest
from gate.contract import knobs
from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Finding
from gate.contract.ledger import Author
from gate.rules.change_set import ChangeSet


def change_set(*changes: WorldChange, **fields: Any) -> ChangeSet:
    """Return a proposal's change of worlds and of nothing else."""
    values = knobs.defaults()
    given = {"author": Author.META_AGENT, "proposal": selftest.GOOD, "known": selftest.SEEN}
    return ChangeSet(new=values, old=values, worlds=changes, **{**given, **fields})


def findings(rule: str, *changes: WorldChange, **fields: Any) -> list[Finding]:
    """Return what one rule finds."""
    return list(rules.RULES[rule](change_set(*changes, **fields)))


def of(rule: str, path: str, content: str | bytes) -> list[Finding]:
    """Return what one rule finds in another content of one file of the sample."""
    return findings(rule, sample_world.edited(path, content))
