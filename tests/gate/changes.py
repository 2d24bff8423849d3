"""Change sets for the rules, made from a few new values over the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.contract import knobs
from gate.contract.knobs import ABSENT, KnobChange
from gate.rules.change_set import ChangeSet


def change_set(
    new: Mapping[str, Any], *, old: Mapping[str, Any] | None = None, **evidence: Any
) -> ChangeSet:
    """Return the change from the defaults with `old` values to the same with `new` ones.

    Args:
        new: Values by path as written.
        old: Values by path that are in force before.
        evidence: Further fields of the `ChangeSet`.
    """
    before = knobs.apply(
        knobs.defaults(), [KnobChange(path, ABSENT, value) for path, value in (old or {}).items()]
    )
    after = knobs.apply(before, [KnobChange(path, ABSENT, value) for path, value in new.items()])
    return ChangeSet(old=before, new=after, changes=knobs.diff(before, after), **evidence)
