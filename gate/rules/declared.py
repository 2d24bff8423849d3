"""A change may name declared knobs only.

The files are checked when they are read; this holds for changes that come without a file.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract import knobs
from gate.contract.findings import Finding
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="A change names declared knobs only, and a world only where the knob may differ "
    "between worlds.",
    answers="EAU: world keys that resolved to nothing (`tau` for `tau2`).",
)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every changed knob that no schema declares."""
    for change in change_set.changes:
        spec = knobs.specs().get(change.knob)
        if spec is None:
            yield change_set.finding(
                "declared",
                change.path,
                f"{change.path} is no knob.",
                "Use a declared one: `gate check --help` says where they are listed.",
                value=change.new,
            )
        elif change.world is not None and not spec.worlds:
            yield change_set.finding(
                "declared",
                change.path,
                f"{spec.path} is the same in every world, and {change.path} names one.",
                f"Change {spec.path} itself.",
                value=change.new,
            )
