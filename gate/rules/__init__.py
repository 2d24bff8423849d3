"""The rules a change must satisfy, one per file.

The rules are code, not configuration: no file that a run reads can add, change or remove one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from gate.contract.findings import Finding
from gate.rules import coupled, declared, difficulty, in_range, reward_weights, step_size
from gate.rules.change_set import ChangeSet

RULES: Mapping[str, Callable[[ChangeSet], Iterable[Finding]]] = MappingProxyType(
    {
        "declared": declared.check,
        "in_range": in_range.check,
        "step_size": step_size.check,
        "difficulty": difficulty.check,
        "coupled": coupled.check,
        "reward_weights": reward_weights.check,
    }
)
"""Every rule by name, in the order in which their findings are told."""


def check(change_set: ChangeSet) -> tuple[Finding, ...]:
    """Return what all rules find in a change."""
    return tuple(finding for rule in RULES.values() for finding in rule(change_set))
