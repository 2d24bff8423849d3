"""Every sentence the turtle world writes, in two styles. Nothing here decides anything.

What is said of a story counts its parts and names none, so that the rubric cannot be read off.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainer.worlds.prompt_style import COMPACT

_FULL_SYSTEM = """\
The user tells the surface of a strange story. Find out what lies behind it.

Begin every message with one of:
[action] a question that can be answered by yes, no or maybe, such as "[action] Did he know her?".
[answer] the whole story behind it, in a few sentences. You may improve it later; only what is \
better than your best answer so far counts.

You have at most {max_steps} messages."""

_COMPACT_SYSTEM = "Explain the story: [action] yes or no question, [answer] whole story."


def system(style: str, max_steps: int) -> str:
    """Return the rules of the world and of its actions."""
    return _COMPACT_SYSTEM if style == COMPACT else _FULL_SYSTEM.format(max_steps=max_steps)


def feedback(style: str, halves: Sequence[int], solved: bool) -> str:
    """Return what the agent reads after an answer.

    Args:
        style: The style of the prompt.
        halves: 0, 1 or 2 for each criterion.
        solved: Whether the threshold is reached.
    """
    if solved:
        return "Solved." if style == COMPACT else "That is the story behind it."
    whole, half = halves.count(2), halves.count(1)
    if style == COMPACT:
        return f"{whole} whole, {half} half, of {len(halves)}."
    return (
        f"Of the {len(halves)} things that matter, {whole} are told and {half} are half told. "
        "You may ask on and answer again."
    )


def malformed(style: str, reason: str) -> str:
    """Return what is wrong with an action and what to do."""
    if style == COMPACT:
        return "Write [action] or [answer]."
    return (
        f"This action cannot be carried out: {reason}. Write [action] and a question, or [answer] "
        "and the story."
    )
