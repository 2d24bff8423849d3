"""`world.yaml` as the gate reads it: what a world lets be edited, and which knobs it declares.

It is read whole or refused with the place of every fault. The value in force of a world's own
knob is its `default`; a new revision of the world moves it. What moves are allowed is not known
here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import KnobSpec, specs, text, tree
from gate.contract.knobs.check import check_document
from gate.contract.knobs.reading import placed, position_of, repeated_keys

FILE = "world.yaml"
RULES = "user.yaml"
PERSONAS = "personas/"

NEVER_EDITABLE = frozenset({"oracle.py", "gold", "tasks", "evaluation"})
"""First parts of paths that no edit of a world may touch."""

ALWAYS_EDITABLE = (FILE, RULES, PERSONAS)
"""What may be edited in every world; of `world.yaml` its knobs alone."""

TAKEN = frozenset(
    {"max_steps", "prompt_style", "tool_deadline_s", "judge", "seed", "task", "settings"}
)
"""Names that a world is made with already."""


@dataclass(frozen=True)
class WorldDeclaration:
    """What one world says about itself, as far as the gate asks."""

    values: Mapping[str, Any]
    """The whole file as JSON values."""
    knobs: Mapping[str, KnobSpec]
    """Its own knobs by name; the path of each is `world.<world>.<name>`."""
    positions: Mapping[str, tuple[int, int]]
    """Line and column of each field and each knob by name."""

    @property
    def editable(self) -> tuple[str, ...]:
        """Files, and folders that end in `/`, which a revision may change."""
        return (*self.values["editable"], *ALWAYS_EDITABLE)

    def may_edit(self, path: str) -> bool:
        """Return whether a revision may change a file, by its path within the world."""
        if path.split("/")[0] in NEVER_EDITABLE:
            return False
        return any(
            path.startswith(one) if one.endswith("/") else path == one for one in self.editable
        )


@cache
def schema() -> Mapping[str, Any]:
    """Return the JSON Schema of `world.yaml`; read it, never change it."""
    path = Path(__file__).with_name("world.schema.json")
    return json.loads(path.read_text(encoding="utf-8"))


def read(world: str, content: bytes, *, file: str) -> WorldDeclaration:
    """Return what the bytes of a `world.yaml` declare.

    Args:
        world: Name of the world's folder.
        content: The bytes of the file.
        file: What findings call it.

    Raises:
        Refused: with every fault and its place.
    """
    root = read_tree(content, file=file)
    document = tree.value_of(root)
    values, faults = check_document(schema(), document, name="world")
    findings = [placed(file, fault, root) for fault in faults]
    findings += repeated_keys("world", root)
    places = {
        str(parts[-1]): (place.line, place.column)
        for parts, _, node in tree.walk(root)
        if len(parts) == 1 or (len(parts) == 2 and parts[0] == "knobs")
        for place in (position_of(node),)
    }
    if not findings:
        findings = [*_faults(world, values, file, places)]
    if findings:
        raise Refused([ours(finding, file) for finding in findings])
    return WorldDeclaration(
        values=values,
        knobs={
            name: KnobSpec.declared(f"world.{world}.{name}", {"x-worlds": False, **declared})
            for name, declared in values.get("knobs", {}).items()
        },
        positions=places,
    )


def read_tree(content: bytes, *, file: str) -> tree.Entries:
    """Return the tree of a YAML file of a world, held to the strict part that knob files use.

    Raises:
        Refused: with the place of the first fault.
    """
    try:
        root = tree.read(text.decode(file, content))
    except tree.Unreadable as fault:
        place = (fault.line, fault.column)
        message = fault.message.replace("a knob file", "this file")
        raise Refused([_flaw("syntax", message, fault.next_step, file, place)]) from fault
    except Refused as refused:
        raise Refused([ours(finding, file) for finding in refused.findings]) from refused
    if not isinstance(root, tree.Entries):
        message = f"{file} holds no map of names to values."
        raise Refused([_flaw("syntax", message, "Write one `name: value` a line.", file)])
    return root


def ours(finding: Finding, file: str) -> Finding:
    """Return a finding of the shared reader of YAML as one about a file of a world."""
    record = {**finding.to_json(), "file": file}
    record["rule"] = finding.rule.replace("knobs.", "world.", 1)
    return Finding.from_json(record)


def _faults(
    world: str, values: Mapping[str, Any], file: str, places: Mapping[str, tuple[int, int]]
) -> Iterator[Finding]:
    """Yield what is wrong with a declaration that no schema can tell."""
    if values["name"] != world:
        message = f"name is {values['name']}, and the folder is {world}."
        yield _flaw("name", message, f"Write {world}.", file, places["name"])
    if values["success_metric"] not in values["metrics"]:
        message = f"success_metric is {values['success_metric']}, which is none of metrics."
        yield _flaw("metric", message, "Name one of them.", file, places["success_metric"])
    for path in values["editable"]:
        parts = path.split("/")
        if parts[0] in NEVER_EDITABLE or ".." in parts:
            message = f"editable names {path}, which no edit may touch."
            yield _flaw("editable", message, "Remove it.", file, places["editable"])
    for name, declared in values.get("knobs", {}).items():
        for message, step in _wrong_knob(name, declared):
            yield _flaw("knob", f"The knob {name} {message}", step, file, places[name])


def _wrong_knob(name: str, declared: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    built_in = {spec.key for spec in specs().values()}
    if not name.isidentifier() or name != name.lower() or name in TAKEN | built_in:
        yield "has a name that is taken, or none for a setting.", "Choose another in lower case."
    default, numeric = declared["default"], declared["type"] != "boolean"
    if numeric == isinstance(default, bool) or (
        declared["type"] == "integer" and not float(default).is_integer()
    ):
        yield f"has a default that is no {declared['type']}.", "Write one."
    elif numeric and not ("minimum" in declared and "maximum" in declared):
        yield "has no range.", "Declare minimum and maximum."
    elif numeric and not declared["minimum"] <= default <= declared["maximum"]:
        yield f"is {default}, outside its range.", "Choose a value in the range."
    if declared["x-max-step"]["kind"] != "any" and "size" not in declared["x-max-step"]:
        yield "has an x-max-step without a size.", "Write how far one write may move it."


def _flaw(
    rule: str,
    message: str,
    next_step: str,
    file: str,
    place: tuple[int, int] | None = None,
) -> Finding:
    line, column = place or (None, None)
    return Finding(f"world.{rule}", Severity.ERROR, message, next_step, file, line, column)
