"""Every sentence the function world writes, in two styles. Nothing here decides anything."""

from __future__ import annotations

from trainer.message import Action
from trainer.task import Task
from trainer.worlds import refusals
from trainer.worlds.prompt_style import COMPACT

from .verifier import Effect, Move  # noqa: TID252 - the folder is loaded by path

_FULL_SYSTEM = """\
A hidden rule takes four whole numbers a, b, c and d and gives one number. It uses only addition, \
subtraction, multiplication, division and powers. Find its value at four test numbers, at which \
it cannot be called.

Begin every message with one of:
[action] four whole numbers, such as "[action] 1 2 3 4": calls the rule.
[search] test: shows the test numbers.
[answer] one number: your value at the test numbers. A wrong answer costs a message.

You have at most {max_steps} messages."""

_COMPACT_SYSTEM = "Find the rule: [action] 4 numbers, [search] test, [answer] value."

_FULL = {
    Move.CALL_UNDEFINED: "The rule has no value at these numbers. Try others.",
    Move.SEARCH_UNCLEAR: "There is only one thing to search for: write [search] test.",
    Move.ANSWER_RIGHT: "That is right.",
    Move.ANSWER_WRONG: "That is not the value at the test numbers. You may go on.",
    Move.ANSWER_UNREADABLE: "An answer is one number, such as [answer] 12.5.",
    Move.FINISHED: "",
}
_COMPACT = {
    Move.CALL_UNDEFINED: "No value.",
    Move.SEARCH_UNCLEAR: "Write [search] test.",
    Move.ANSWER_RIGHT: "Right.",
    Move.ANSWER_WRONG: "Wrong.",
    Move.ANSWER_UNREADABLE: "Answer one number.",
    Move.FINISHED: "",
}


def system(style: str, max_steps: int) -> str:
    """Return the rules of the world and of its actions."""
    return _COMPACT_SYSTEM if style == COMPACT else _FULL_SYSTEM.format(max_steps=max_steps)


def observation(style: str, task: Task, action: Action, effect: Effect) -> str:
    """Return what the agent reads after a move."""
    compact = style == COMPACT
    match effect.move:
        case Move.CALLED:
            return f"{effect.value:.10g}" if compact else f"The result is {effect.value:.10g}."
        case Move.CALL_REFUSED:
            return effect.reason if compact else f"The rule was not called: {effect.reason}."
        case Move.TEST_SHOWN:
            numbers = " ".join(map(str, task.payload["test_case"]))
            return numbers if compact else f"The test numbers (a b c d) are {numbers}."
        case Move.MALFORMED:
            return (
                "Write [action], [search] or [answer]."
                if compact
                else f"This action cannot be carried out: {refusals.reason(action)}. Write "
                "[action], [search] or [answer] and what belongs to it."
            )
        case move:
            return (_COMPACT if compact else _FULL)[move]
