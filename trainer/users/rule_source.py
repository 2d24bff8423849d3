"""Rule source: a YAML text read into plain values, each with its line and column.

Only mappings, lists, texts, numbers, booleans and null; no tags, anchors or duplicate keys, so
that a file cannot name code, expand, or say two things at once. What the values mean is not known
here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MAX_CHARS = 262_144
MAX_DEPTH = 12

_TAG = "tag:yaml.org,2002:"
Path = tuple[str | int, ...]


class Position(NamedTuple):
    """A place in a text, both counted from one."""

    line: int
    column: int


class SourceError(ValueError):
    """A text that is not plain YAML; says where and what to do."""

    def __init__(self, position: Position, message: str) -> None:
        """Keep the place apart from the sentence."""
        super().__init__(message)
        self.position = position


@dataclass(frozen=True)
class Source:
    """Values and the places they came from."""

    value: Any
    values: Mapping[Path, Position]
    """Where each value starts, by its path of keys and indices."""
    keys: Mapping[Path, Position]
    """Where each key of a mapping stands, by the path of its value."""

    def at(self, path: Path) -> Position:
        """Return where a value starts, or the nearest thing around it."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Position(1, 1))

    def key_at(self, path: Path) -> Position:
        """Return where a key stands, or the nearest thing around it."""
        return self.keys.get(path) or self.at(path)


def read_source(text: str) -> Source:
    """Return the values of a YAML text with their places; an empty text holds None.

    Raises:
        SourceError: if the text is too long or too deep, is not YAML, or uses a tag, an anchor,
            an alias, a duplicate key or a key that is not text.
    """
    if len(text) > MAX_CHARS:
        raise SourceError(
            Position(1, 1),
            f"the file has {len(text)} characters, the limit is {MAX_CHARS}; shorten it",
        )
    text = text.removeprefix("\ufeff")
    try:
        _refuse_structure(text)
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Position(mark.line + 1, mark.column + 1) if mark else Position(1, 1)
        problem = error.problem or error.context or "unreadable"
        raise SourceError(place, f"not YAML: {problem}; mend the text here") from error
    except YAMLError as error:
        raise SourceError(_reader_place(error, text), f"not YAML: {_one_line(error)}") from error
    values: dict[Path, Position] = {}
    keys: dict[Path, Position] = {}
    value = None if root is None else _construct(root, (), values, keys)
    return Source(value, values, keys)


def _refuse_structure(text: str) -> None:
    """Refuse what would nest or expand without end before any tree is built."""
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor):
            raise SourceError(
                _place(event), "anchors and aliases are not allowed; write the value out"
            )
        if isinstance(event, CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise SourceError(_place(event), f"nested deeper than {MAX_DEPTH}; flatten it")
        elif isinstance(event, CollectionEndEvent):
            depth -= 1


def _construct(
    node: Node, path: Path, values: dict[Path, Position], keys: dict[Path, Position]
) -> Any:
    values[path] = _place(node)
    if isinstance(node, MappingNode):
        _check_tag(node, "map")
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _key(key_node)
            if key in result:
                raise SourceError(_place(key_node), f"the key {key!r} stands twice; remove one")
            keys[(*path, key)] = _place(key_node)
            result[key] = _construct(value_node, (*path, key), values, keys)
        return result
    if isinstance(node, SequenceNode):
        _check_tag(node, "seq")
        return [
            _construct(item, (*path, index), values, keys) for index, item in enumerate(node.value)
        ]
    return _scalar(node)


def _key(node: Node) -> str:
    if not isinstance(node, ScalarNode) or node.tag != _TAG + "str":
        raise SourceError(_place(node), "a key must be plain text; put it in quotes")
    return node.value


def _scalar(node: Node) -> Any:
    text = node.value
    match node.tag.removeprefix(_TAG):
        case "str":
            return text
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" | "float" as kind:
            try:
                number = int(text) if kind == "int" else float(text)
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise SourceError(
                    _place(node), f"{text!r} is not a plain number; write it in decimal digits"
                )
            return number
        case tag:
            raise SourceError(_place(node), f"the tag or type {tag!r} is not allowed; use text")


def _check_tag(node: Node, expected: str) -> None:
    if node.tag != _TAG + expected:
        raise SourceError(_place(node), f"the tag {node.tag!r} is not allowed; remove it")


def _place(thing: Any) -> Position:
    return Position(thing.start_mark.line + 1, thing.start_mark.column + 1)


def _reader_place(error: YAMLError, text: str) -> Position:
    offset = getattr(error, "position", 0)
    before = text[: offset if isinstance(offset, int) else 0]
    return Position(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
