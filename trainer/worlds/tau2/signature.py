"""Signatures: a tool's annotated parameters as JSON Schema, and arguments held against it.

The schema is what an agent is shown and what is checked, so the two cannot part. Arguments come
from a model and are hostile: the first fault is told in words, and nothing is converted.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, Union

from trainer.worlds.tau2.values import is_number

MAX_NUMBER = 10**12

_PLAIN: Mapping[Any, Mapping[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    dict: {"type": "object", "additionalProperties": True},
}


def parameters_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON Schema of a function's parameters but for the first and those by name alone.

    The first is the database; what can be given by name alone is for worlds to set, and no agent.
    Understands plain types, `Literal`, lists, unions, string enums and dataclasses. A parameter of
    type `T | None` whose default is None is an optional `T`.

    Raises:
        TypeError: if a parameter has a type that is not among these.
    """
    hints = typing.get_type_hints(function)
    definitions: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    required = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            continue
        hint = hints[parameter.name]
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
            properties[parameter.name] = _schema(hint, definitions)
        else:
            if parameter.default is None:
                hint = _without_none(hint)
            properties[parameter.name] = {"default": parameter.default} | _schema(hint, definitions)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if definitions:
        schema["$defs"] = definitions
    return schema


def fault_in(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], name: str) -> str:
    """Return what is wrong with a value, the empty string when nothing is.

    Args:
        value: JSON value.
        schema: What it must satisfy, as `parameters_of` makes it.
        root: The schema that holds the definitions.
        name: What to call the value.
    """
    if "$ref" in schema:
        return fault_in(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, name)
    if "anyOf" in schema:
        faults = [fault_in(value, option, root, name) for option in schema["anyOf"]]
        return "" if "" in faults else faults[0]
    if "enum" in schema and value not in schema["enum"]:
        return f"{name} must be one of {', '.join(map(str, schema['enum']))}"
    kind = schema["type"]
    if not _is_of(value, kind):
        return f"{name} must be of type {kind}"
    if kind == "array":
        parts = ((entry, schema["items"], f"{name}[{at}]") for at, entry in enumerate(value))
    elif kind == "object":
        known = schema.get("properties", {})
        missing = [key for key in schema.get("required", ()) if key not in value]
        if missing:
            return f"{name} lacks {', '.join(missing)}"
        unknown = [key for key in value if key not in known]
        if unknown and not schema.get("additionalProperties", True):
            return f"{name} has no {', '.join(unknown)}; it has {', '.join(known) or 'nothing'}"
        parts = ((value[key], known[key], key) for key in value if key in known)
    else:
        return ""
    return next(
        (fault for part in parts if (fault := fault_in(part[0], part[1], root, part[2]))), ""
    )


def _schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is dict:
        return dict(_PLAIN[dict])
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(one, definitions) for one in arguments]}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        definitions[hint.__name__] = {"type": "string", "enum": [one.value for one in hint]}
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        definitions[hint.__name__] = _record_schema(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    raise TypeError(
        f"{hint!r} has no schema here; use a plain type, a list, an enum or a dataclass"
    )


def _record_schema(record: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(record)
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    required = []
    for field in dataclasses.fields(record):
        entry = _schema(hints[field.name], definitions)
        if field.default is dataclasses.MISSING:
            required.append(field.name)
        else:
            entry = entry | {"default": field.default}
        schema["properties"][field.name] = entry
    # A record of defaults alone would take any misspelled name for an empty record.
    return schema | ({"required": required} if required else {"additionalProperties": False})


def _without_none(hint: Any) -> Any:
    rest = tuple(one for one in typing.get_args(hint) if one is not type(None))
    return rest[0] if len(rest) == 1 else Union[rest]  # noqa: UP007 - the members are a value here


def _is_of(value: Any, kind: str) -> bool:
    # Beyond that, sums are no longer exact, and what is infinite is no amount of anything.
    number = is_number(value) and abs(value) <= MAX_NUMBER
    return {
        "string": isinstance(value, str),
        "integer": number and value == int(value),
        "number": number,
        "boolean": isinstance(value, bool),
        "null": value is None,
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }[kind]
