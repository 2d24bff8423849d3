"""The knobs: declared once, read whole or refused whole, compared, applied and edited.

`user.yaml`, `environment.yaml`, `reward.yaml` and `agent.yaml` hold every value that can change
while a run is live. The `*.schema.json` files here declare them; everything else reads that.
"""

from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs.check import check_value
from gate.contract.knobs.editing import edit
from gate.contract.knobs.reading import (
    UNREADABLE,
    ParsedFile,
    Position,
    load,
    parse,
    unreadable_file,
    unreadable_folder,
)
from gate.contract.knobs.rendering import render, render_defaults
from gate.contract.knobs.spec import (
    FILES,
    WORLDS,
    Harder,
    KnobSpec,
    Scope,
    StepKind,
    StepLimit,
    keys,
    schema,
    specs,
)
from gate.contract.knobs.text import END, LARGEST, NotReady
from gate.contract.knobs.values import (
    ABSENT,
    Absent,
    KnobChange,
    Knobs,
    apply,
    defaults,
    diff,
    from_values,
)

__all__ = [
    "ABSENT",
    "END",
    "FILES",
    "LARGEST",
    "UNREADABLE",
    "WORLDS",
    "Absent",
    "Finding",
    "Harder",
    "KnobChange",
    "KnobSpec",
    "Knobs",
    "NotReady",
    "ParsedFile",
    "Position",
    "Refused",
    "Scope",
    "Severity",
    "StepKind",
    "StepLimit",
    "apply",
    "check_value",
    "defaults",
    "diff",
    "edit",
    "from_values",
    "keys",
    "load",
    "parse",
    "render",
    "render_defaults",
    "schema",
    "specs",
    "unreadable_file",
    "unreadable_folder",
]
