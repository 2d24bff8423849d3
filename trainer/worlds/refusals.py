"""Why a world does not carry out a move that means nothing in it, in the same words everywhere.

What to do instead, and in which style that is said, is the word of each world.
"""

from __future__ import annotations

from trainer.message import Action, Choice

_MAX_NAME_CHARS = 40

_NO_USE = {
    Choice.ACTION: "there is nobody to talk to in this world",
    Choice.SEARCH: "there is nothing to search in this world",
    Choice.ANSWER: "there is nothing to answer in this world",
    Choice.FINISH: "there is no leaving this world",
}


def reason(action: Action) -> str:
    """Return why a world that has no use for an action cannot carry it out.

    Args:
        action: A move of any kind; a malformed one says itself what is wrong with it.

    Returns:
        A clause without capital and full stop.
    """
    if action.choice is Choice.TOOL:
        return f"there is no tool named {action.name[:_MAX_NAME_CHARS]!r}"
    return _NO_USE.get(action.choice, action.content)
