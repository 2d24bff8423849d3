"""Reading an answer: which of the agent's words are code.

Two readings stand side by side. The strict one is the public verifier's, to the letter; the
other takes the code out of any fence and forbids no words. Nothing here runs code.
"""

from __future__ import annotations

import re

MARKER = "I WANT TO ANSWER:"
"""What an agent writes before its answer."""
SPOKEN = "OUTPUT:"
"""Where these words occur, only what follows the first of them was said."""

BANNED = (
    "import os", "from os", "import sys", "from sys", "sudo", "transformers", "exit(", "quit(",
    "argparse",
)  # fmt: skip
"""Words that the public verifier allows nowhere in an answer, comments included."""

_FENCE = re.compile(r"```[ \t]*[A-Za-z0-9_+-]*[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL)


def spoken(text: str) -> str:
    """Return the part of a message that counts, between the first and the second `OUTPUT:`."""
    return (text.split(SPOKEN)[1] if SPOKEN in text else text).strip()


def answer_in(text: str) -> str | None:
    """Return what follows the marker, or None when the message is no answer."""
    _, marker, answer = text.partition(MARKER)
    return answer.strip() if marker else None


def code(answer: str) -> str:
    """Return the code of an answer: its first fenced block, whatever its language, or all."""
    block = _FENCE.search(answer)
    return block.group(1) if block else answer


def strict_code(answer: str) -> str | None:
    """Return the code that the public verifier would run, or None where it would run nothing."""
    if any(word in answer for word in BANNED):
        return None
    for fence in ("```python", "```"):
        if fence in answer:
            return answer.split(fence)[1].split("```")[0]
    return answer
