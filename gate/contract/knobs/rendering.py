"""Values become the text of a knob file: the starting set, and the new text of an edited value.

What is written here is read the same by YAML 1.1 and 1.2 readers: floats have a point, and texts
that some reader takes for something else are quoted. This module knows nothing about disks.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, cast

from gate.contract.knobs.spec import WORLDS, Harder, KnobSpec, keys, schema, specs
from gate.contract.knobs.text import END
from gate.contract.knobs.values import Knobs, defaults

WIDTH = 92
"""Columns of a rendered comment."""

_NOUNS = {"array": "a list", "object": "a map", "string": "a text"}

_SAFE_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*\Z")
_WORDS_WITH_MEANING = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf")
)


def render_defaults(file: str, *, schema_path: str | None = None) -> bytes:
    """Return the starting text of one knob file, each knob explained above its default.

    Args:
        file: Its name, without `.yaml`.
        schema_path: Where an editor finds the schema, as written in the first line; by default
            seen from `knobs/` at the top of the repository.
    """
    return render(file, defaults(), schema_path=schema_path)


def render(file: str, knobs: Knobs, *, schema_path: str | None = None) -> bytes:
    """Return the text of one knob file with the given values; see `render_defaults`."""
    where = schema_path or f"../gate/contract/knobs/{file}.schema.json"
    lines = [f"# yaml-language-server: $schema={where}", "#"]
    lines += _comment(str(schema(file)["title"]))
    lines += _comment(
        "Every value here can change while a run is live: save this file in the run's knobs/ "
        "directory and it is in force one step later. A file that is refused changes nothing. "
        f"The last line must stay `{END}`: it shows that the file was saved whole."
    )
    for key in keys(file):
        spec = specs()[f"{file}.{key}"]
        lines += ["", *_comment(f"{spec.description} {summary(spec)}")]
        lines += entry(key, knobs.values[file][key], indent=0)
    if any(specs()[f"{file}.{key}"].worlds for key in keys(file)):
        declared = schema(file)["properties"][WORLDS]
        lines += ["", *_comment(f"{declared['description']}")]
        lines += entry(WORLDS, knobs.values[file][WORLDS], indent=0)
    return "\n".join([*lines, "", END, ""]).encode()


def summary(spec: KnobSpec) -> str:
    """Return range and direction in one line, as in `0 to 1; up is harder.`."""
    words = [span(spec)]
    if spec.harder is not Harder.NONE:
        words.append(f"{spec.harder} is harder")
    return f"[{'; '.join(word for word in words if word)}]"


def span(spec: KnobSpec) -> str:
    """Return what values a knob can have, in words."""
    words = _NOUNS.get(spec.type, spec.type)
    if spec.choices:
        words = " | ".join(spec.choices)
    elif spec.low is not None and spec.high is not None:
        above = "above " if "exclusiveMinimum" in spec.schema else ""
        words = f"{above}{number(spec.low)} to {number(spec.high)}"
    return f"{words}, or null" if spec.nullable else words


def entry(key: str, value: Any, *, indent: int) -> list[str]:
    """Return the lines of `key: value`, a list of maps or a map of maps as a block."""
    pad = " " * indent
    if _needs_block(value):
        return [f"{pad}{text(key)}:", *block(value, indent=indent + 2)]
    return [f"{pad}{text(key)}: {inline(value)}"]


def block(value: Any, *, indent: int) -> list[str]:
    """Return the lines of a map or list in block style."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        return [line for key, part in entries.items() for line in entry(key, part, indent=indent)]
    lines: list[str] = []
    for item in cast("Sequence[Any]", value):
        first, *rest = (
            block(item, indent=indent + 2)
            if isinstance(item, Mapping)
            else ([" " * (indent + 2) + inline(item)])
        )
        lines += [f"{' ' * indent}- {first[indent + 2 :]}", *rest]
    return lines


def inline(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        parts = [f"{text(key)}: {inline(part)}" for key, part in entries.items()]
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(inline(item) for item in cast("list[Any]", value)) + "]"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return number(value)


def number(value: float) -> str:
    """Return a number so that every YAML reader takes it for one: `1.0e-06`, not `1e-06`."""
    digits = repr(value)
    mantissa, exponent, power = digits.partition("e")
    if exponent and "." not in mantissa:
        return f"{mantissa}.0e{power}"
    return digits


def text(value: str) -> str:
    """Return a text, in double quotes unless every YAML reader takes it for a text anyway."""
    if _SAFE_TEXT.match(value) and value.lower() not in _WORDS_WITH_MEANING:
        return value
    return json.dumps(value, ensure_ascii=False)


def _needs_block(value: Any) -> bool:
    if isinstance(value, Mapping):
        parts = list(cast("Mapping[str, Any]", value).values())
    else:
        parts = cast("list[Any]", value) if isinstance(value, list) else []
    return any(isinstance(part, Mapping) for part in parts)


def _comment(words: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(words, WIDTH, break_on_hyphens=False)]
