"""Every sentence the telepathy world writes, in two styles. Nothing here decides anything."""

from __future__ import annotations

from trainer.worlds.prompt_style import COMPACT

_FULL_SYSTEM = """\
The user thinks of something. Find out what it is.

Begin every message with one of:
[action] a question that can be answered by yes, no or maybe, such as "[action] Is it alive?".
[answer] the name of what you believe it to be, and nothing else. A wrong guess costs a message.

You have at most {max_steps} messages."""

_COMPACT_SYSTEM = "Guess the thing: [action] yes or no question, [answer] name."


def system(style: str, max_steps: int) -> str:
    """Return the rules of the world and of its actions."""
    return _COMPACT_SYSTEM if style == COMPACT else _FULL_SYSTEM.format(max_steps=max_steps)


def feedback(style: str, right: bool) -> str:
    """Return what the agent reads after a guess."""
    if style == COMPACT:
        return "Right." if right else "Wrong."
    return "Yes, that is it." if right else "No, that is not it. You may go on."


def malformed(style: str, reason: str) -> str:
    """Return what is wrong with an action and what to do."""
    if style == COMPACT:
        return "Write [action] or [answer]."
    return (
        f"This action cannot be carried out: {reason}. Write [action] and a question, or [answer] "
        "and a name."
    )
