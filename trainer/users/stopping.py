"""Stop markers: the tokens by which a user ends a conversation, and nobody else.

A marker beside text ends the conversation and the text is kept. In the agent's words the same
marker is noise and is removed. What an ending means for learning is not known here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

STOP = "stop"
TRANSFER = "transfer"
OUT_OF_SCOPE = "out_of_scope"

_MARKER = re.compile(r"###\s*(STOP|TRANSFER|OUT-OF-SCOPE)\s*###", re.IGNORECASE)


class Parting(NamedTuple):
    """Text without its stop markers, and the first marker that was in it."""

    text: str
    marker: str | None
    """`stop`, `transfer` or `out_of_scope`; None where the text held no marker."""


def split_marker(text: str) -> Parting:
    """Return the words and the marker of a message apart.

    Source:
        The tokens of tau2-bench's simulation guidelines.
    """
    if "###" not in text:
        return Parting(text, None)
    match = _MARKER.search(text)
    if match is None:
        return Parting(text, None)
    words = re.sub(r"[ \t]{2,}", " ", _MARKER.sub(" ", text)).strip()
    return Parting(words, match.group(1).lower().replace("-", "_"))
