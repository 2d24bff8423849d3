"""The strict part of YAML that a knob file may use, as a tree in which each part knows its place.

No anchors, aliases, merge keys, tags or directives, at most eight levels: nothing in a file can
expand, refer or run. Scalars are read by YAML 1.2's core rules, except that `1e-5` is a number
whether it has a point or not, and that a number with a leading zero is text (YAML 1.1 and 1.2
disagree on it). This module knows nothing about knobs.
"""

# ruamel.yaml's parts are untyped, and this is the one module that touches them.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gate.contract.knobs import characters

DEEPEST = 8
"""Levels of nesting; the deepest valid knob file needs five."""

LONGEST_NUMBER = 64
"""Characters of a number; a longer one is text, and so refused where a number belongs."""


class Place(NamedTuple):
    """A point in a text, counted in characters without a leading byte order mark."""

    line: int
    """From 1."""
    column: int
    """From 1."""
    offset: int
    """From 0, from the start of the text."""


@dataclass(frozen=True)
class Scalar:
    """A single value."""

    value: Any
    """The JSON value it stands for: str, int, float (nan and inf included), bool or None."""
    text: str
    """Its characters, without quotes."""
    plain: bool
    """False when it is quoted or a block of text."""
    start: Place
    end: Place
    flow: bool = False
    """True within brackets or braces."""


@dataclass(frozen=True)
class Entries:
    """A map, in the order of the file; a key may stand there twice."""

    pairs: tuple[tuple[Scalar, Node], ...]
    start: Place
    end: Place
    flow: bool
    """True when it is written in braces."""


@dataclass(frozen=True)
class Items:
    """A list."""

    nodes: tuple[Node, ...]
    start: Place
    end: Place
    flow: bool
    """True when it is written in brackets."""


Node = Scalar | Entries | Items

Parts = tuple[str | int, ...]
"""Where a value stands, from the top of a file: keys and indices."""


class Unreadable(Exception):
    """A text that is not YAML, or uses a part of YAML that knob files do without."""

    def __init__(self, message: str, next_step: str, line: int, column: int) -> None:
        """Keep what is wrong, what to do, and where."""
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.line = line
        self.column = column


def read(text: str) -> Node | None:
    """Return the tree of one document; None when it holds nothing but comments.

    Raises:
        Unreadable: at the first part that is no YAML, or not of the strict part.
    """
    events = _events(text)
    root: Node | None = None
    for event in events:
        if isinstance(event, DocumentStartEvent):
            _refuse_directives(event)
            if root is not None:
                raise _unreadable(
                    event, "A second YAML document begins here.", "Keep one document per file."
                )
        elif isinstance(event, NodeEvent):
            root = _node(event, events, depth=0, flow=False)
    return root


def value_of(node: Node) -> Any:
    """Return the JSON value of a tree; of a key that stands there twice, the last value."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [value_of(item) for item in node.nodes]
    return {key.text: value_of(value) for key, value in node.pairs}


def walk(node: Node, parts: Parts = ()) -> Iterator[tuple[Parts, Scalar | None, Node]]:
    """Yield every value below a node, itself included, with its path and its key if it has one."""
    yield parts, None, node
    if isinstance(node, Items):
        for number, item in enumerate(node.nodes):
            yield from walk(item, (*parts, number))
    elif isinstance(node, Entries):
        for key, value in node.pairs:
            inner = walk(value, (*parts, key.text))
            here, _, first = next(inner)
            yield here, key, first
            yield from inner


def _events(text: str) -> Iterator[Any]:
    parser = YAML(typ="safe", pure=True)
    try:
        yield from parser.parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        raise Unreadable(
            f"This is no valid YAML: {said}.",
            "Compare the line with its neighbours: each is `name: value`, indented with spaces.",
            mark.line + 1,
            mark.column + 1,
        ) from error
    except (YAMLError, ValueError, OverflowError) as error:
        # ruamel.yaml lets an escape beyond the last character (\\UFFFFFFFF) fail in `chr`.
        raise Unreadable(
            "This is no valid YAML: a character or an escape stands for none.",
            "Write the text without \\ escapes.",
            1,
            1,
        ) from error


def _node(event: Any, events: Iterator[Any], *, depth: int, flow: bool) -> Node:
    _refuse_references(event)
    if depth > DEEPEST:
        raise _unreadable(
            event,
            f"This is nested more than {DEEPEST} levels deep.",
            "No knob needs that: compare the file with the starting set in knobs/.",
        )
    start = _place(event.start_mark)
    if isinstance(event, ScalarEvent):
        hidden = characters.UNPRINTABLE.search(event.value)
        if hidden is not None:
            raise _unreadable(
                event,
                f"An escape stands for {characters.name(hidden.group())}.",
                "Write the text without it.",
            )
        plain = not event.style
        value = resolve(event.value) if plain else event.value
        return Scalar(value, event.value, plain, start, _place(event.end_mark), flow)
    inside = flow or bool(event.flow_style)
    if isinstance(event, SequenceStartEvent):
        nodes: list[Node] = []
        while not isinstance(part := next(events), SequenceEndEvent):
            nodes.append(_node(part, events, depth=depth + 1, flow=inside))
        return Items(tuple(nodes), start, _place(part.end_mark), inside)
    pairs: list[tuple[Scalar, Node]] = []
    while not isinstance(part := next(events), MappingEndEvent):
        key = _key(part, events, depth=depth + 1)
        value = _node(next(events), events, depth=depth + 1, flow=inside)
        if isinstance(value, Scalar) and value.plain and value.text == "":
            # The parser places an empty value at whatever follows, perhaps lines below.
            after = Place(key.end.line, key.end.column + 1, key.end.offset + 1)
            value = replace(value, start=after, end=after)
        pairs.append((key, value))
    return Entries(tuple(pairs), start, _place(part.end_mark), inside)


def _key(event: Any, events: Iterator[Any], *, depth: int) -> Scalar:
    key = _node(event, events, depth=depth, flow=False)
    if not isinstance(key, Scalar):
        raise _unreadable(
            event,
            "A map or list stands where a name belongs.",
            "Write `name: value`; a text that begins with { or [ needs quotes.",
        )
    if key.plain and key.text == "<<":
        raise _unreadable(
            event, "Merge keys (<<) have no place in a knob file.", "Write each value out."
        )
    return key


def _refuse_references(event: Any) -> None:
    if isinstance(event, AliasEvent):
        name = event.anchor
        raise _unreadable(
            event, f"The alias *{name} has no place in a knob file.", "Write the value out."
        )
    anchor, tag = event.anchor, event.tag
    if anchor is not None:
        raise _unreadable(
            event, f"The anchor &{anchor} has no place in a knob file.", "Write each value out."
        )
    if tag is not None:
        raise _unreadable(
            event,
            f"The tag {tag} has no place in a knob file; nothing was built or run for it.",
            "Write the plain value.",
        )


def _refuse_directives(event: DocumentStartEvent) -> None:
    if event.version is not None or event.tags:
        raise _unreadable(event, "A % directive has no place in a knob file.", "Remove the line.")


_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


def resolve(text: str) -> Any:
    """Return the JSON value that an unquoted text stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > LONGEST_NUMBER:
        return text
    if _INTEGER.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1, mark.index)


def _unreadable(event: Any, message: str, next_step: str) -> Unreadable:
    place = _place(event.start_mark)
    return Unreadable(message, next_step, place.line, place.column)
