"""What an agent's text means at these desks: `[answer]` holds a tool call, as in TauGym.

A tool may also be called by its name, as everywhere. Nothing here knows which tools there are.
"""

from __future__ import annotations

from trainer.message import Action, Choice, read_action


def desk_move(action: Action) -> Action:
    """Return a move with an answer's JSON read as the tool call that it is."""
    if action.choice is not Choice.ANSWER:
        return action
    call = read_action(f"<tool_call>{action.content}</tool_call>")
    if call.choice in (Choice.TOOL, Choice.MALFORMED):
        return call
    return Action(Choice.MALFORMED, 'an answer is a tool call: {"name": "...", "arguments": {...}}')


def read(text: str) -> Action:
    """Return the move that an agent's text makes."""
    return desk_move(read_action(text))
