"""Every sentence the search world writes, in two styles. Nothing here decides anything."""

from __future__ import annotations

from collections.abc import Sequence

from trainer.message import Action
from trainer.worlds import refusals
from trainer.worlds.prompt_style import COMPACT

from .documents import Document  # noqa: TID252 - the folder is loaded by path
from .verifier import Move  # noqa: TID252

_FULL_SYSTEM = """\
Answer the user's question. The answer stands in documents that you can search, often not in the \
first one that you find.

Begin every message with one of:
[search] a few words: lists the documents that hold them. You have {max_searches} searches.
[answer] the answer in as few words as possible. A wrong answer costs a message.

You have at most {max_steps} messages."""

_COMPACT_SYSTEM = "Answer the question: [search] words, [answer] answer."

_FULL = {
    Move.SEARCH_REFUSED: "You have used up your searches. Give your answer.",
    Move.ANSWER_RIGHT: "That is right.",
    Move.ANSWER_WRONG: "That is not the answer. You may go on.",
    Move.FINISHED: "",
}
_COMPACT = {
    Move.SEARCH_REFUSED: "No searches left.",
    Move.ANSWER_RIGHT: "Right.",
    Move.ANSWER_WRONG: "Wrong.",
    Move.FINISHED: "",
}


def system(style: str, max_steps: int, max_searches: int) -> str:
    """Return the rules of the world and of its actions."""
    if style == COMPACT:
        return _COMPACT_SYSTEM
    return _FULL_SYSTEM.format(max_steps=max_steps, max_searches=max_searches)


def results(style: str, found: Sequence[Document]) -> str:
    """Return what the agent reads after a search; one that found nothing says so."""
    if not found:
        return "Nothing." if style == COMPACT else "No document holds any of these words."
    rows = [f"{document['title']}: {document['text']}" for document in found]
    if style == COMPACT:
        return "\n".join(rows)
    return "\n".join(f"{number}. {row}" for number, row in enumerate(rows, start=1))


def observation(style: str, action: Action, move: Move) -> str:
    """Return what the agent reads after any other move."""
    if move is not Move.MALFORMED:
        return (_COMPACT if style == COMPACT else _FULL)[move]
    if style == COMPACT:
        return "Write [search] or [answer]."
    reason = refusals.reason(action)
    return f"This action cannot be carried out: {reason}. Write [search] or [answer] and words."
