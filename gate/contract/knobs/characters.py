"""Characters that look like others, and what was probably meant by them.

Pasted from a document or a chat, a no-break space or a full-width colon turns a whole YAML file
into one string, and no parser's message says so. This module knows nothing about knobs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

LOOKALIKES = {
    "\u00a0": "an ordinary space",
    "\u2007": "an ordinary space",
    "\u2009": "an ordinary space",
    "\u202f": "an ordinary space",
    "\u3000": "an ordinary space",
    "\u200b": "nothing at all",
    "\ufeff": "nothing at all",
    "\uff1a": "an ordinary colon (:)",
    "\ufe55": "an ordinary colon (:)",
    "\uff0c": "an ordinary comma (,)",
    "\uff03": "an ordinary number sign (#)",
    "\uff0e": "an ordinary point (.)",
    "\u2010": "an ordinary minus (-)",
    "\u2011": "an ordinary minus (-)",
    "\u2012": "an ordinary minus (-)",
    "\u2013": "an ordinary minus (-)",
    "\u2014": "an ordinary minus (-)",
    "\u2212": "an ordinary minus (-)",
    "\u2018": "an ordinary quote (')",
    "\u2019": "an ordinary quote (')",
    "\u201c": 'an ordinary quote (")',
    "\u201d": 'an ordinary quote (")',
}
"""What to type instead of each."""

_LOOKALIKE = re.compile("[" + "".join(LOOKALIKES) + "]")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_TAB = re.compile(r"^ *\t|:\t")

# C0 and C1 controls, the separators that some editors count as lines and others do not, marks
# that show a text in another order than it has, and code points that are no characters. Tab,
# line feed and carriage return are text.
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class Oddity(NamedTuple):
    """One character out of place."""

    line: int
    """From 1."""
    column: int
    """From 1."""
    text: str
    """The character."""
    sentence: str
    """What stands there."""
    next_step: str


def name(character: str) -> str:
    """Return a character's code point and Unicode name, as in `U+00A0 NO-BREAK SPACE`."""
    # Control characters have no name of their own in Unicode.
    label = unicodedata.name(character, "NUL" if character == "\0" else "a control character")
    return f"U+{ord(character):04X} {label}"


def lookalike(text: str) -> str | None:
    """Return the first lookalike character of a text, if it has one."""
    found = _LOOKALIKE.search(text)
    return found.group() if found else None


def oddities(text: str) -> Iterator[Oddity]:
    """Yield tabs where YAML wants spaces, and lookalikes outside comments, in order.

    They are only suspects: within quotes each of them is legal. Ask when a file does not parse.
    """
    for number, whole in enumerate(text.splitlines(), start=1):
        line = _COMMENT.sub("", whole)
        for found in _TAB.finditer(line):
            where = "starts with a tab" if found.start() == 0 else "has a tab after a colon"
            yield Oddity(
                number,
                found.end(),
                "\t",
                f"Line {number} {where}, which YAML does not take for a space.",
                "Replace the tab with spaces.",
            )
        for found in _LOOKALIKE.finditer(line):
            character = found.group()
            yield Oddity(
                number,
                found.start() + 1,
                character,
                f"Line {number} has {name(character)} in it.",
                f"Replace it with {LOOKALIKES[character]}.",
            )
