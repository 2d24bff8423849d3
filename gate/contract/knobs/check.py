"""Values against their schema: every fault at once, and the values in one canonical form.

This is JSON Schema 2020-12 for the keywords that the knob schemas use, written out so that each
refusal can say what to do; a test holds it against the `jsonschema` package. Of our own keywords
it enforces `x-keys` (the keys are names of worlds), `x-unique` (one property differs between all
items) and `x-some-positive` (not all weights are zero). It knows nothing about files or positions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

from gate.contract.findings import Finding
from gate.contract.knobs import characters, hints
from gate.contract.knobs.names import is_world, missing, unknown
from gate.contract.knobs.spec import WORLDS, KnobSpec, schema
from gate.contract.knobs.tree import Parts
from gate.contract.knobs.walk import Fault, Walk, article, shown, types, wanted


def check(
    file: str, document: Any, *, worlds: Collection[str]
) -> tuple[dict[str, Any], list[Fault]]:
    """Check one file's values.

    Args:
        file: Name of the knob file, without `.yaml`.
        document: The file's JSON value.
        worlds: Names of the worlds that the run has.

    Returns:
        The values in canonical form (numbers as float, integers as int, optional parts filled
        in, keys in the order of the schema) and all faults; use the values only without faults.
    """
    walk = Walk(root=schema(file), file=file, worlds=worlds)
    if not isinstance(document, dict):
        walk.refuse((), "type", f"{file}.yaml holds no knobs.", "Write one `name: value` a line.")
        return {}, walk.faults
    values = cast("dict[str, Any]", _value(walk, walk.root, document, ()))
    if isinstance(values.get(WORLDS), dict):
        overrides = cast("dict[str, Any]", values[WORLDS])
        values[WORLDS] = {world: knobs for world, knobs in overrides.items() if knobs}
    return values, walk.faults


def check_value(
    spec: KnobSpec, value: Any, *, worlds: Collection[str]
) -> tuple[Any, tuple[Finding, ...]]:
    """Check the value of one knob, also of one that a world declares for itself.

    Returns:
        The value in canonical form, and what is wrong with it; use it only if nothing is.
    """
    walk = Walk(root={"properties": {spec.key: spec.schema}}, file=spec.file, worlds=worlds)
    canonical = _value(walk, spec.schema, value, (spec.key,))
    return canonical, tuple(fault.finding for fault in walk.faults)


def check_document(root: Mapping[str, Any], document: Any, *, name: str) -> tuple[Any, list[Fault]]:
    """Check a document of another kind against a schema that uses the same keywords.

    Args:
        root: Its JSON Schema.
        document: Its JSON value.
        name: What its parts are called by, as `proposal` in `proposal.window`.

    Returns:
        The values in canonical form, and all faults; use the values only without faults.
    """
    walk = Walk(root=root, file=name, worlds=())
    return _value(walk, root, document, ()), walk.faults


def _value(walk: Walk, declared: Mapping[str, Any], value: Any, parts: Parts) -> Any:
    if reference := declared.get("$ref"):
        _, kind, name = reference.split("/")
        declared = walk.root[kind][name]
    if "const" in declared and value != declared["const"]:
        walk.refuse(
            parts,
            "choice",
            f"{walk.name(parts)} is {shown(value)}.",
            f"Write {declared['const']}.",
            value=value,
            limit=declared["const"],
        )
    if "const" in declared:
        return value
    if "enum" in declared:
        return _choice(walk, declared, value, parts)
    names = types(declared)
    kind = next((name for name in names if _is(value, name)), None)
    if kind is None:
        hint = hints.meant(value, names[0])
        walk.refuse(
            parts,
            "type",
            f"{walk.name(parts)} is {shown(value)}, not {article(names)}.",
            hint or f"Write {wanted(declared)}.",
            value=value,
            limit=list(names),
        )
        return value
    return _BY_KIND[kind](walk, declared, value, parts)


def _choice(walk: Walk, declared: Mapping[str, Any], value: Any, parts: Parts) -> Any:
    choices = cast("list[str]", declared["enum"])
    if not (isinstance(value, str) and value in choices):
        near = hints.nearest(value, choices) if isinstance(value, str) else None
        walk.refuse(
            parts,
            "choice",
            f"{walk.name(parts)} is {shown(value)}, which is none of {', '.join(choices)}.",
            f"Did you mean {near}?" if near else f"Write {wanted(declared)}.",
            value=value,
            limit=choices,
        )
    return value


def _null(walk: Walk, declared: Mapping[str, Any], value: Any, parts: Parts) -> Any:
    return value


def _number(walk: Walk, declared: Mapping[str, Any], value: Any, parts: Parts) -> Any:
    if not _finite(value):
        walk.refuse(
            parts,
            "finite",
            f"{walk.name(parts)} is {value if isinstance(value, float) else 'huge'}, "
            "which is not a finite number.",
            f"Write {wanted(declared)}.",
            value=str(value)[:40],
        )
        return value
    for keyword, (holds, words) in _BOUNDS.items():
        if keyword in declared and not holds(value, declared[keyword]):
            walk.refuse(
                parts,
                "range",
                f"{walk.name(parts)} is {value!r}, which is {words} {declared[keyword]}.",
                f"Write {wanted(declared)}; a value is never clamped.",
                value=value,
                limit=declared[keyword],
            )
    return float(value) + 0.0 if "number" in types(declared) else int(value)


def _text(walk: Walk, declared: Mapping[str, Any], value: Any, parts: Parts) -> Any:
    length = len(value)
    low, high = declared.get("minLength", 0), declared.get("maxLength", math.inf)
    if not low <= length <= high:
        walk.refuse(
            parts,
            "length",
            f"{walk.name(parts)} has {length} characters; {low} to {high} are allowed.",
            "Shorten it." if length > high else "Write at least one character.",
            value=value,
            limit=high if length > high else low,
        )
    unprintable = characters.UNPRINTABLE.search(value)
    if unprintable is not None:
        walk.refuse(
            parts,
            "character",
            f"{walk.name(parts)} has {characters.name(unprintable.group())} in it.",
            "Remove the character.",
            value=value,
        )
    pattern = declared.get("pattern")
    # In JSON Schema `$` is the end of the text; to Python it is also the place before a newline.
    if pattern is not None and not re.search(pattern.replace("$", r"\Z"), value):
        walk.refuse(
            parts,
            "pattern",
            f"{walk.name(parts)} is {shown(value)}, which does not match {pattern}.",
            hints.odd(value) or _form(declared),
            value=value,
            limit=pattern,
        )
    return value


def _form(declared: Mapping[str, Any]) -> str:
    """Return in words what a text must look like."""
    if "[a-z]" in declared["pattern"] or "description" not in declared:
        return "Use lower-case letters, digits and _, beginning with a letter."
    return f"{declared['description']}."


def _switch(walk: Walk, declared: Mapping[str, Any], value: Any, parts: Parts) -> Any:
    return value


def _list(walk: Walk, declared: Mapping[str, Any], value: Any, parts: Parts) -> Any:
    items = cast("Sequence[Any]", value)
    low, high = declared.get("minItems", 0), declared.get("maxItems", math.inf)
    if not low <= len(items) <= high:
        walk.refuse(
            parts,
            "length",
            f"{walk.name(parts)} has {len(items)} items; {low} to {high} are allowed.",
            "Remove some." if len(items) > high else "Add at least one.",
            value=len(items),
            limit=high if len(items) > high else low,
        )
    result = [
        _value(walk, declared["items"], item, (*parts, number)) for number, item in enumerate(items)
    ]
    if "x-unique" in declared or declared.get("uniqueItems"):
        _unique(walk, items, declared.get("x-unique"), parts)
    return result


def _unique(walk: Walk, items: Sequence[Any], part: str | None, parts: Parts) -> None:
    seen: dict[str, int] = {}
    for number, item in enumerate(items):
        identity: Any = item
        if part is not None:
            if not (isinstance(item, dict) and part in item):
                continue
            identity = cast("dict[str, Any]", item[part])
        first = seen.setdefault(shown(identity), number)
        if first != number:
            walk.refuse(
                (*parts, number) if part is None else (*parts, number, part),
                "unique",
                f"{walk.name(parts)} has {shown(identity)} at {first + 1} and at {number + 1}.",
                "Give each its own name." if part else "Keep one of them.",
                value=identity,
            )


def _map(walk: Walk, declared: Mapping[str, Any], value: Any, parts: Parts) -> Any:
    entries = cast("dict[Any, Any]", value)
    properties = cast("Mapping[str, Any]", declared.get("properties", {}))
    others = declared.get("additionalProperties", False)
    result: dict[str, Any] = {}
    for key, property_schema in properties.items():
        if key in entries:
            result[key] = _value(walk, property_schema, entries[key], (*parts, key))
        elif key in declared.get("required", ()):
            missing(walk, property_schema, key, parts)
        elif "default" in property_schema:
            result[key] = property_schema["default"]
    for key, entry in entries.items():
        if key in properties:
            continue
        if others is False:
            unknown(walk, properties, key, parts)
        elif declared.get("x-keys") != "world" or is_world(walk, key, parts):
            result[key] = _value(walk, others, entry, (*parts, key))
    least, most = declared.get("minProperties", 0), declared.get("maxProperties", math.inf)
    if len(entries) < least:
        walk.refuse(parts, "length", f"{walk.name(parts)} is empty.", "Name at least one.")
    if len(entries) > most:
        walk.refuse(
            parts,
            "length",
            f"{walk.name(parts)} has {len(entries)} entries; at most {most} are allowed.",
            "Remove some.",
            value=len(entries),
            limit=most,
        )
    if declared.get("x-some-positive") and result and not any(result.values()):
        walk.refuse(
            parts,
            "weights",
            f"{walk.name(parts)} gives every world the weight 0.",
            "Give at least one world a weight above 0, or write {} for the recipe's mix.",
            value=entries,
        )
    return result


_BY_KIND: Mapping[str, Callable[[Walk, Mapping[str, Any], Any, Parts], Any]] = {
    "null": _null,
    "boolean": _switch,
    "integer": _number,
    "number": _number,
    "string": _text,
    "array": _list,
    "object": _map,
}

_BOUNDS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (lambda value, bound: value >= bound, "below the lowest value"),
    "maximum": (lambda value, bound: value <= bound, "above the highest value"),
    "exclusiveMinimum": (lambda value, bound: value > bound, "not above"),
    "exclusiveMaximum": (lambda value, bound: value < bound, "not below"),
}


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _PYTHON[kind])


_PYTHON: Mapping[str, Any] = {
    "null": type(None),
    "boolean": bool,
    "number": (int, float),
    "string": str,
    "array": list,
    "object": dict,
}


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the floats
        return False
