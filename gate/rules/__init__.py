"""The rules a change must satisfy, one per file.

The rules are code, not configuration: no file that a run reads can add, change or remove one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType

from gate.contract.findings import Finding
from gate.rules import (
    acts,
    coupled,
    declared,
    difficulty,
    evidence,
    false_verdicts,
    holdout,
    in_range,
    pace,
    personas,
    protected,
    restart_budget,
    reversible,
    reward_bounds,
    reward_weights,
    step_size,
    user_rules,
    world_code,
    world_files,
    world_imports,
    world_knobs,
)
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

RULES: Mapping[str, Callable[[ChangeSet], Iterable[Finding]]] = MappingProxyType(
    {
        "declared": declared.check,
        "in_range": in_range.check,
        "acts": acts.check,
        "step_size": step_size.check,
        "difficulty": difficulty.check,
        "coupled": coupled.check,
        "reward_weights": reward_weights.check,
        "reward_bounds": reward_bounds.check,
        "pace": pace.check,
        "evidence": evidence.check,
        "holdout": holdout.check,
        "reversible": reversible.check,
        "protected": protected.check,
        "restart_budget": restart_budget.check,
        "world_files": world_files.check,
        "world_imports": world_imports.check,
        "world_code": world_code.check,
        "world_knobs": world_knobs.check,
        "user_rules": user_rules.check,
        "personas": personas.check,
        "false_verdicts": false_verdicts.check,
    }
)
"""Every rule by name, in the order in which their findings are told."""

DECLARATIONS: Mapping[str, Declaration] = MappingProxyType(
    {
        "declared": declared.DECLARATION,
        "in_range": in_range.DECLARATION,
        "acts": acts.DECLARATION,
        "step_size": step_size.DECLARATION,
        "difficulty": difficulty.DECLARATION,
        "coupled": coupled.DECLARATION,
        "reward_weights": reward_weights.DECLARATION,
        "reward_bounds": reward_bounds.DECLARATION,
        "pace": pace.DECLARATION,
        "evidence": evidence.DECLARATION,
        "holdout": holdout.DECLARATION,
        "reversible": reversible.DECLARATION,
        "protected": protected.DECLARATION,
        "restart_budget": restart_budget.DECLARATION,
        "world_files": world_files.DECLARATION,
        "world_imports": world_imports.DECLARATION,
        "world_code": world_code.DECLARATION,
        "world_knobs": world_knobs.DECLARATION,
        "user_rules": user_rules.DECLARATION,
        "personas": personas.DECLARATION,
        "false_verdicts": false_verdicts.DECLARATION,
    }
)
"""What every rule says of itself, by name."""


def check(change_set: ChangeSet, *, exempt: Collection[str] = ()) -> tuple[Finding, ...]:
    """Return what all rules find in a change.

    Args:
        change_set: The change.
        exempt: Names of rules that are not asked, as for a change that is taken back.
    """
    return tuple(
        finding
        for name, rule in RULES.items()
        if name not in exempt
        for finding in rule(change_set)
    )
