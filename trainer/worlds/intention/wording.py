"""Every sentence the intention world writes, in two styles.

`full` is for language models that read instructions; `compact` says the same in few words, for
small models. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.worlds.prompt_style import COMPACT

_FULL_SYSTEM = """\
The user has a request that leaves important details open (category: {category}). Do not carry it \
out. Find out what is missing by asking.

Begin every message with [action], followed by one short question about one detail, such as \
"[action] By when do you need it?". A question about one detail is worth more than one about \
several, and important details are worth more than minor ones.

You have at most {max_steps} messages. The dialogue ends when every detail is known."""

_COMPACT_SYSTEM = "Ask the user for one missing detail at a time."


def system(style: str, payload: Mapping[str, Any], max_steps: int) -> str:
    """Return the rules of the world and of its actions."""
    if style == COMPACT:
        return _COMPACT_SYSTEM
    return _FULL_SYSTEM.format(category=payload["category"], max_steps=max_steps)


def malformed(style: str, reason: str) -> str:
    """Return what is wrong with an action and what to do."""
    if style == COMPACT:
        return "Ask a question."
    return f"This action cannot be carried out: {reason}. Write [action] and a question."
