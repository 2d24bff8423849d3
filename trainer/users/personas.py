"""Personas: prose that describes how a user talks, read from a world's `personas` folder.

One file, one persona, named by the file. What the user wants is not part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PLAIN = "plain"
PLAIN_TEXT = "An ordinary person who talks plainly and briefly."
"""The persona that every world has, also without a file."""

SUFFIXES = (".md", ".txt")
MAX_CHARS = 8_000


class PersonaError(ValueError):
    """A persona that cannot be used; says which and what to do."""


def read_personas(folder: Path) -> dict[str, str]:
    """Return the personas of a folder by name, `plain` among them; a missing folder has no more.

    Raises:
        PersonaError: if a file is empty, longer than 8000 characters, not UTF-8, or a link out of
            the folder.
    """
    personas = {PLAIN: PLAIN_TEXT}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix not in SUFFIXES:
            continue
        if not path.resolve().is_relative_to(folder.resolve()):
            raise PersonaError(f"{path}: is a link out of the folder; put the text itself there")
        try:
            text = path.read_text("utf-8").strip()
        except UnicodeDecodeError as error:
            raise PersonaError(f"{path}: not UTF-8 at byte {error.start}; save it so") from error
        if not 0 < len(text) <= MAX_CHARS:
            raise PersonaError(
                f"{path}: has {len(text)} characters, a persona has 1 to {MAX_CHARS}; "
                f"describe how the user talks"
            )
        personas[path.stem] = text
    return personas


def persona_text(personas: Mapping[str, Mapping[str, str]], world: str, name: str) -> str:
    """Return the prose of a persona.

    Args:
        personas: By world, then by name.
        world: The task's world.
        name: The knob `persona`.

    Raises:
        PersonaError: if the world has no such persona, naming those it has.
    """
    known = personas.get(world, {})
    if name in known:
        return known[name]
    if name == PLAIN:
        return PLAIN_TEXT
    raise PersonaError(
        f"user.persona: world {world!r} has no persona {name!r} "
        f"(it has {', '.join(sorted({PLAIN, *known}))}); name one of them or add its file"
    )
