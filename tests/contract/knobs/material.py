"""What the knob tests are made from: valid files, changes to them, and random valid values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from hypothesis import strategies as st

from gate.contract import knobs
from gate.contract.knobs import characters

WORLDS = ("travel", "intention", "tau2")

_TEXT = st.text(
    st.characters().filter(lambda character: not characters.UNPRINTABLE.match(character))
    | st.sampled_from(list("\n\t #:'\"{}[],&*!|>%@`-?0123456789")),
)


def content(file: str, key: str | None = None, value: str = "") -> bytes:
    """Return the starting text of a file, with the line of one key replaced as given."""
    text = knobs.render_defaults(file).decode()
    if key is not None:
        lines = text.split("\n")
        number = next(n for n, line in enumerate(lines) if line.startswith(f"{key}:"))
        lines[number] = f"{key}: {value}" if value else f"{key}:"
        text = "\n".join(lines)
    return text.encode()


def line_of(text: bytes, start: str) -> int:
    """Return the number, from 1, of the first line that begins so."""
    lines = text.decode().split("\n")
    return next(number for number, line in enumerate(lines, 1) if line.startswith(start))


def refusal(file: str, text: bytes) -> knobs.Refused:
    """Return the refusal of a file; it is an error when it is accepted."""
    try:
        parsed = knobs.parse(file, text, worlds=WORLDS)
    except knobs.Refused as refused:
        return refused
    raise AssertionError(f"accepted: {parsed.values}")


def values_of(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Return valid values of one property of a knob schema."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of(*(_OF_TYPE[name](schema) for name in cast("list[str]", names)))


def files(file: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return valid values of one knob file, overrides of single worlds included."""
    properties = {key: knobs.specs()[f"{file}.{key}"] for key in knobs.keys(file)}
    top = {key: values_of(spec.schema) for key, spec in properties.items()}
    overrides = {key: values_of(spec.schema) for key, spec in properties.items() if spec.worlds}
    worlds = st.dictionaries(
        st.sampled_from(WORLDS), st.fixed_dictionaries({}, optional=overrides), max_size=2
    )
    return st.fixed_dictionaries({**top, "worlds": worlds if overrides else st.just({})})


def all_files() -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    """Return valid values of all four files."""
    return st.fixed_dictionaries({file: files(file) for file in knobs.FILES})


def _number(schema: Mapping[str, Any]) -> st.SearchStrategy[float]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    return st.floats(
        low,
        schema.get("maximum"),
        exclude_min="exclusiveMinimum" in schema,
        allow_nan=False,
        allow_infinity=False,
    )


def _list(schema: Mapping[str, Any]) -> st.SearchStrategy[Sequence[Any]]:
    unique = schema.get("x-unique")
    by = (lambda item: cast("dict[str, Any]", item)[unique]) if unique else None
    low = schema.get("minItems", 0)
    items = values_of(schema["items"])
    if by is not None:
        return st.lists(items, min_size=low, max_size=3, unique_by=by)
    return st.lists(items, min_size=low, max_size=3, unique=bool(schema.get("uniqueItems")))


def _map(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    if "properties" not in schema:
        names = st.sampled_from(WORLDS) if schema.get("x-keys") == "world" else _text({})
        entries = st.dictionaries(names, values_of(schema["additionalProperties"]), max_size=3)
        if schema.get("x-some-positive"):
            return entries.filter(lambda map_: not map_ or any(map_.values()))
        return entries
    parts = {key: values_of(part) for key, part in schema["properties"].items()}
    needed = {key: part for key, part in parts.items() if key in schema["required"]}
    rest = {key: part for key, part in parts.items() if key not in needed}
    return st.fixed_dictionaries(needed, optional=rest)


def _text(schema: Mapping[str, Any]) -> st.SearchStrategy[str]:
    if "pattern" in schema:
        pattern = schema["pattern"].replace("*$", "{0,20}").removeprefix("^")
        return st.from_regex(pattern, fullmatch=True)
    low, high = schema.get("minLength", 1), min(schema.get("maxLength", 30), 30)
    return _TEXT.filter(lambda text: low <= len(text) <= high)


_OF_TYPE = {
    "null": lambda _: st.none(),
    "boolean": lambda _: st.booleans(),
    "integer": lambda schema: st.integers(schema["minimum"], schema["maximum"]),
    "number": _number,
    "string": _text,
    "array": _list,
    "object": _map,
}
