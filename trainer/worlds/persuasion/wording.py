"""Every sentence the persuasion world writes, in two styles. Nothing here decides anything."""

from __future__ import annotations

from trainer.worlds.prompt_style import COMPACT

_FULL_SYSTEM = """\
The user strongly holds a claim. Convince them of the opposite.

Begin every message with [action], followed by one argument against the claim in a few sentences. \
Speak to what the user may care about, one point at a time, and stay polite: an insult makes them \
surer of themselves.

You have at most {max_steps} messages. The dialogue ends when the user strongly disagrees with \
their own claim."""

_COMPACT_SYSTEM = "Argue politely against the claim, one point at a time."


def system(style: str, max_steps: int) -> str:
    """Return the rules of the world and of its actions."""
    return _COMPACT_SYSTEM if style == COMPACT else _FULL_SYSTEM.format(max_steps=max_steps)


def too_short(style: str) -> str:
    """Return what is wrong with a message that is no argument yet."""
    if style == COMPACT:
        return "Write a whole sentence."
    return "That is no argument yet, so the user was not asked. Write a whole sentence."


def malformed(style: str, reason: str) -> str:
    """Return what is wrong with an action and what to do."""
    if style == COMPACT:
        return "Write an argument."
    return f"This action cannot be carried out: {reason}. Write [action] and an argument."
