"""The styles in which a world may write: `full` for models that read instructions, or `compact`.

What is written in either is the word of each world.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COMPACT, FULL = "compact", "full"


def prompt_style(settings: Mapping[str, Any]) -> str:
    """Return the style that a world's settings ask for; `full` where they name none.

    Raises:
        ValueError: if there is none of that name.
    """
    chosen = settings.get("prompt_style", FULL)
    if chosen not in (COMPACT, FULL):
        raise ValueError(f"prompt_style is {chosen!r}; choose compact or full")
    return chosen
