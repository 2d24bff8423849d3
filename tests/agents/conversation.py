"""What a coding agent asks of its model and what a model may answer, in no client's own words.

A policy sees a `Conversation` and returns moves. It decides by what the conversation holds, never
by counting requests, so that a retry or a resumed session cannot put it out of step. Knows no
protocol and no client.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Say:
    """Words; alone they end the client's turn."""

    text: str


@dataclass(frozen=True)
class Shell:
    """A command line for the client's shell."""

    command: str


@dataclass(frozen=True)
class Read:
    """Read one file by the client's own tool, or by the shell where it has none."""

    path: str
    """Relative to the folder that the client was started in."""


@dataclass(frozen=True)
class Write:
    """Make a new file by the client's own tool."""

    path: str
    content: str


@dataclass(frozen=True)
class Edit:
    """Replace words of a file by the client's own tool."""

    path: str
    old: str
    """Whole lines, which stand there once."""
    new: str


@dataclass(frozen=True)
class UseSkill:
    """Load a skill, by the client's tool for it or by reading its page."""

    name: str


@dataclass(frozen=True)
class Delegate:
    """Have a subagent work on a prompt, where the client has a tool for it."""

    prompt: str


Move = Say | Shell | Read | Write | Edit | UseSkill | Delegate


@dataclass(frozen=True)
class Exchange:
    """One call of a tool and what came of it."""

    tool: str
    argument: Any
    """As the protocol has it: a JSON object, or text."""
    result: str
    failed: bool = False
    """Whether the client called it an error; some never do."""


@dataclass(frozen=True)
class Conversation:
    """Everything that one request holds."""

    text: str
    """Every string of the request, instructions and results included, joined by line breaks."""
    exchanges: tuple[Exchange, ...]
    """The calls that have a result, oldest first."""
    tools: frozenset[str]
    """Names of the tools on offer."""
    folder: str
    """Where the client was started, as it told its model; empty if it did not."""
    spell: Callable[[Move], tuple[str, Any]]
    """How the client's protocol names a move: tool and argument."""

    def exchange(self, move: Move) -> Exchange | None:
        """Return the newest exchange that was made by a move; None before its result is there."""
        tool, argument = self.spell(move)
        for one in reversed(self.exchanges):
            if one.tool == tool and _holds(one.argument, argument):
                return one
        return None

    def answer(self, move: Move) -> str | None:
        """Return what came of a move; None before its result is there."""
        found = self.exchange(move)
        return None if found is None else found.result


def _holds(told: Any, asked: Any) -> bool:
    """True where a client repeats what it was asked; some add their defaults to an object."""
    if isinstance(told, dict) and isinstance(asked, dict):
        return asked.items() <= told.items()
    return told == asked


Policy = Callable[[Conversation], Sequence[Move]]
"""A scripted model: the moves that follow a conversation. `Say` alone ends the client's turn."""


def in_turn(*moves: Move, end: str = "done") -> Policy:
    """Return the policy that makes these moves one after the other, whatever comes of them."""

    def decide(talk: Conversation) -> Sequence[Move]:
        left = [move for move in moves if talk.exchange(move) is None]
        return left[:1] or [Say(end)]

    return decide


def json_in(result: str) -> Any:
    """Return the JSON object in what a tool printed, whatever the client wrote around it.

    Raises:
        ValueError: if there is none.
    """
    return json.JSONDecoder().raw_decode(result, result.index("{"))[0]
