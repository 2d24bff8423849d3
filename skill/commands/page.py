"""Pages: what a command prints, never more than a reader with a small window can take.

A page is either lines of text or one JSON object; both stay below a number of characters and say
what was left out and how to see it. Nothing here knows what is printed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

MOST_CHARACTERS = 20_000
"""Of one page: about 6,000 tokens."""


class Page:
    """Collects lines and prints as many as fit."""

    def __init__(self, *, deeper: str, most: int = MOST_CHARACTERS) -> None:
        """Begin an empty page.

        Args:
            deeper: How to see what does not fit, said when something is left out.
            most: Characters that fit.
        """
        self._deeper = deeper
        self._most = most
        self._blocks: list[str] = []

    def add(self, *lines: str) -> None:
        """Add lines that may be parted from each other."""
        self._blocks.extend(lines)

    def block(self, lines: Sequence[str]) -> None:
        """Add lines that are shown together or not at all, such as a fence and its text."""
        self._blocks.append("\n".join(lines))

    def text(self) -> str:
        """Return what fits."""
        kept: list[str] = []
        size = 0
        for block in self._blocks:
            if size + len(block) + 1 > self._most:
                left = len(self._blocks) - len(kept)
                kept.append(f"({left} more parts do not fit; {self._deeper})")
                break
            kept.append(block)
            size += len(block) + 1
        return "\n".join(kept) + "\n"

    def show(self, out: TextIO | None = None) -> None:
        """Print what fits."""
        (out or sys.stdout).write(self.text())


def show_json(value: dict[str, Any], *, lists: Iterable[str], most: int = MOST_CHARACTERS) -> None:
    """Print a JSON object that fits, shortening the longest of some lists until it does.

    Non-finite numbers become null and every control character an escape.

    Args:
        value: JSON values.
        lists: Keys of `value` whose lists may be shortened; `left_out` tells by how much.
        most: Characters that fit.
    """
    kept = {**value, "left_out": {}}
    names = [name for name in lists if isinstance(value.get(name), list)]
    while len(text := _dump(kept)) > most and any(kept[name] for name in names):
        longest = max(names, key=lambda name: len(_dump(kept[name])))
        fitting = int(len(kept[longest]) * most / len(text))
        kept[longest] = kept[longest][: min(fitting, len(kept[longest]) * 2 // 3)]
        kept["left_out"][longest] = len(value[longest]) - len(kept[longest])
    if len(text) > most:
        text = _dump({"error": "the answer does not fit; ask with a smaller --limit"})
    sys.stdout.write(text + "\n")


def _dump(value: Any) -> str:
    return json.dumps(_finite(value), ensure_ascii=True, indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0.0 else None
    if isinstance(value, dict):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value
