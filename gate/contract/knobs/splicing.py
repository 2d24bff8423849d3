"""New text over the old in a YAML file, so that all else stays as a person left it.

Order, quotes, spacing and line ends of what does not change are not touched at all. A comment
inside a part that goes away is kept on a line of its own. This module knows nothing about knobs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from gate.contract.knobs.rendering import block, entry, inline
from gate.contract.knobs.tree import Entries, Items, Node, Scalar, value_of

_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\r\n]*", re.MULTILINE)


@dataclass
class Splicer:
    """Replacements of parts of one text, gathered while a tree is compared with a target."""

    text: str
    comments: Sequence[tuple[int, int]]
    newline: str
    splices: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])

    def result(self) -> str:
        """Return the text with every replacement made, those at one point in the order given."""
        parts: list[str] = []
        at = 0
        for start, end, new in sorted(self.splices, key=lambda splice: splice[:2]):
            parts += [self.text[at:start], new]
            at = max(at, end)
        return "".join([*parts, self.text[at:]])

    def texts(self) -> list[str]:
        """Return the words of every comment."""
        return [self.text[start:end] for start, end in self.comments]

    def rewrite(self, node: Node, target: Any) -> None:
        """Make a node read as the target."""
        if _same(value_of(node), target):
            return
        if isinstance(node, Entries) and isinstance(target, dict):
            self._map(node, cast("dict[str, Any]", target))
        elif isinstance(node, Items) and isinstance(target, list):
            self._list(node, cast("list[Any]", target))
        else:
            self._write(node, _like(self.text, node, target))

    def _map(self, node: Entries, target: Mapping[str, Any]) -> None:
        kept = [(key, value) for key, value in node.pairs if key.text in target]
        gone = [(key, value) for key, value in node.pairs if key.text not in target]
        present = {key.text for key, _ in node.pairs}
        new = {key: value for key, value in target.items() if key not in present}
        if node.flow and not gone and not new:
            for key, value in kept:
                self.rewrite(value, target[key.text])
            return
        # Taking out a line that something else stands on (`- id: x`) would take that with it.
        shared = any(self._shares_line(key.start.offset) for key, _ in gone)
        if node.flow or not kept or shared:
            self._write_anew(node, target)
            return
        for key, value in kept:
            self._replace_entry(key, value, target[key.text])
        for key, value in gone:
            self._remove(key.start.offset, self._end(value))
        lines = [
            line
            for key, value in new.items()
            for line in entry(key, value, indent=node.start.column - 1)
        ]
        self._insert_after(self._end(node.pairs[-1][1]), lines)

    def _replace_entry(self, key: Scalar, value: Node, target: Any) -> None:
        """Make `key: value` read as the target, in block style where it needs several lines."""
        lines = entry(key.text, target, indent=key.start.column - 1)
        empty = isinstance(value, Entries | Items) and value.flow and not value_of(value)
        if empty and len(lines) > 1:
            start = value.start.offset
            while self.text[start - 1] == " ":
                start -= 1
            self.splices.append((start, value.end.offset, ""))
            self._insert_after(value.end.offset, lines[1:])
        elif isinstance(value, Entries | Items) and not value.flow and not target:
            colon = self.text.index(":", key.end.offset)
            self.splices.append((colon + 1, colon + 1, f" {inline(target)}"))
            self._remove(value.start.offset, self._end(value))
        else:
            self.rewrite(value, target)

    def _list(self, node: Items, target: Sequence[Any]) -> None:
        current = [value_of(item) for item in node.nodes]
        kept = _aligned(current, target)
        if node.flow or kept is None or not kept:
            self._write_anew(node, target)
            return
        for number, item in enumerate(node.nodes):
            if number in kept:
                self.rewrite(item, target[kept[number]])
            else:
                self._remove(self._dash(item), self._end(item))
        places = sorted((new, old) for old, new in kept.items())
        indent = node.start.column - 1
        for number, value in enumerate(target):
            if number in kept.values():
                continue
            lines = block([value], indent=indent)
            before = [old for new, old in places if new < number]
            if before:
                self._insert_after(self._end(node.nodes[before[-1]]), lines)
            else:
                self._insert_before(self._dash(node.nodes[0]), lines)

    def _write_anew(self, node: Entries | Items, target: Any) -> None:
        """Write a whole map or list anew where it stands."""
        if node.flow:
            self._write(node, inline(target))
            return
        indent = node.start.column - 1
        lines = block(target, indent=indent) if target else [" " * indent + inline(target)]
        self._write(node, self.newline.join(lines)[indent:])

    def _write(self, node: Node, new: str) -> None:
        """Put new text in place of a node, its inner comments on lines after it."""
        start, end = node.start.offset, self._end(node)
        lost = self._comments_within(start, end)
        self.splices.append((start, end, new))
        self._insert_after(end, [self._indent_of(start) + comment for comment in lost])

    def _remove(self, start: int, end: int) -> None:
        """Take out the lines of an element; its comments stay, on lines of their own."""
        first, last = self._line_start(start), self._line_end(end)
        pad = self._indent_of(start)
        lost = self._comments_within(start, last)
        kept = "".join(f"{pad}{comment}{self.newline}" for comment in lost)
        self.splices.append((first, last, kept))

    def _insert_after(self, end: int, lines: Sequence[str]) -> None:
        at = self._line_end(end)
        self.splices.append((at, at, "".join(f"{line}{self.newline}" for line in lines)))

    def _insert_before(self, start: int, lines: Sequence[str]) -> None:
        at = self._line_start(start)
        self.splices.append((at, at, "".join(f"{line}{self.newline}" for line in lines)))

    def _comments_within(self, start: int, end: int) -> list[str]:
        return [self.text[a:b].rstrip() for a, b in self.comments if start <= a < end]

    def _dash(self, item: Node) -> int:
        return self.text.rindex("-", 0, item.start.offset)

    def _indent_of(self, offset: int) -> str:
        line = self.text[self._line_start(offset) :]
        return line[: len(line) - len(line.lstrip(" "))]

    def _end(self, node: Node) -> int:
        """Return the offset behind a node's last character, comments and blank lines excluded."""
        if isinstance(node, Scalar) or node.flow:
            # A block of text counts the line breaks after it as its own.
            return len(self.text[: node.end.offset].rstrip())
        last = node.pairs[-1][1] if isinstance(node, Entries) else node.nodes[-1]
        return self._end(last)

    def _shares_line(self, offset: int) -> bool:
        return self.text[self._line_start(offset) : offset].strip() != ""

    def _line_start(self, offset: int) -> int:
        return self.text.rfind("\n", 0, offset) + 1

    def _line_end(self, offset: int) -> int:
        """Return the offset behind the line break that follows; a knob file has one there."""
        return self.text.index("\n", offset) + 1


def _aligned(current: Sequence[Any], target: Sequence[Any]) -> dict[int, int] | None:
    """Return old index -> new index of the items that stay; None when their order changes."""
    places = {_identity(value): number for number, value in enumerate(target)}
    kept = {
        old: places[_identity(value)]
        for old, value in enumerate(current)
        if _identity(value) in places
    }
    order = list(kept.values())
    return kept if order == sorted(set(order)) else None


def _identity(value: Any) -> str:
    entries = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return inline(entries.get("id", value))


def _same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1 here, but 1 is 1.0."""
    if isinstance(left, dict) and isinstance(right, dict):
        a, b = cast("dict[str, Any]", left), cast("dict[str, Any]", right)
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(left, list) and isinstance(right, list):
        ours, theirs = cast("list[Any]", left), cast("list[Any]", right)
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _like(text: str, node: Node, target: Any) -> str:
    """Return a new value in the quotes of the old one."""
    if isinstance(target, str) and isinstance(node, Scalar) and not node.plain:
        quote = text[node.start.offset]
        if quote == '"':
            return json.dumps(target, ensure_ascii=False)
        if quote == "'" and target.isprintable():
            return "'" + target.replace("'", "''") + "'"
    return inline(target)


def comments(text: str, root: Node) -> list[tuple[int, int]]:
    """Return where each comment begins and ends; a # within a value begins none."""
    masked = list(text)
    for scalar in _scalars(root):
        for offset in range(scalar.start.offset, scalar.end.offset):
            if masked[offset] not in "\r\n":
                masked[offset] = "x"
    return [found.span() for found in _COMMENT.finditer("".join(masked))]


def _scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Items):
        for item in node.nodes:
            yield from _scalars(item)
    else:
        for key, value in node.pairs:
            yield key
            yield from _scalars(value)
