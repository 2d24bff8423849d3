"""Messages: what the agent's words mean as an action, and what a user's reply carries.

One grammar for every world: `[search] ...`, `[answer] ...`, `[action] ...` (words to the user),
or the same as a JSON tool call named `interact_with_env`, or a call of a tool the world names.
Plain words are words to the user. Text from a model is hostile: it is parsed with limits and
never executed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trainer.episode import Voice

MAX_ACTION_CHARS = 20_000
MAX_JSON_DEPTH = 32

_THINK = re.compile(r"<think>.*?</think>", re.DOTALL)
_PREFIX = re.compile(r"^\[\s*([A-Za-z_]{1,32})\s*\]\s*(.*)$", re.DOTALL)
_TOOL_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


class Choice(StrEnum):
    """What kind of move the agent made."""

    ACTION = "action"
    """Words to the user."""
    SEARCH = "search"
    ANSWER = "answer"
    FINISH = "finish"
    TOOL = "tool"
    """A call of a tool by its name, with arguments."""
    MALFORMED = "malformed"
    """Nothing a world could carry out; `content` says why."""


@dataclass(frozen=True)
class Action:
    """One move of the agent, read from its text."""

    choice: Choice
    content: str
    name: str = ""
    """For a tool call: the tool's name."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """For a tool call: its arguments, as JSON values."""


@dataclass(frozen=True)
class Reply:
    """What the world may know of a user's reply."""

    text: str
    revealed: tuple[str, ...] = ()
    """Ids of the facts that this reply discloses."""
    ends: bool = False
    """True when the user closes the conversation."""
    voice: Voice = Voice.SYMBOLIC


def read_action(text: str) -> Action:
    """Return the move that the agent's text makes.

    Reasoning between think tags is private and removed first. Whatever cannot be read becomes a
    malformed action whose content is the reason, never an exception.
    """
    if len(text) > MAX_ACTION_CHARS:
        return _malformed(f"longer than {MAX_ACTION_CHARS} characters")
    spoken = _THINK.sub("", text).strip()
    if "<think>" in spoken or "</think>" in spoken:
        return _malformed("reasoning was opened and not closed")
    if not spoken:
        return _malformed("empty message")
    calls = _TOOL_CALL.findall(spoken)
    if calls or "<tool_call>" in spoken:
        return _read_call(calls)
    match = _PREFIX.match(spoken)
    if match is None:
        return Action(Choice.ACTION, spoken)
    return _named(match.group(1).lower(), match.group(2).strip())


def _read_call(calls: list[str]) -> Action:
    if len(calls) != 1:
        return _malformed(f"one tool call a turn, found {len(calls)} complete ones")
    if _depth(calls[0]) > MAX_JSON_DEPTH:
        return _malformed(f"tool call nested deeper than {MAX_JSON_DEPTH}")
    try:
        call = json.loads(calls[0], parse_constant=_refuse_constant, parse_float=_read_finite)
    except ValueError as error:
        return _malformed(f"tool call is not JSON: {error}")
    arguments = call.get("arguments") if isinstance(call, dict) else None
    if not isinstance(arguments, dict) or not isinstance(call.get("name"), str):
        return _malformed("a tool call needs a name and an object of arguments")
    if call["name"] != "interact_with_env":
        return Action(Choice.TOOL, calls[0].strip(), call["name"], arguments)
    choice, content = arguments.get("choice"), arguments.get("content")
    if not isinstance(choice, str) or not isinstance(content, str):
        return _malformed("interact_with_env needs the strings `choice` and `content`")
    return _named(choice.lower(), content.removeprefix(f"[{choice}]").strip())


def _named(choice: str, content: str) -> Action:
    if choice not in (Choice.ACTION, Choice.SEARCH, Choice.ANSWER, Choice.FINISH):
        return _malformed(f"unknown choice {choice[:32]!r}; choose action, search or answer")
    if not content and choice != Choice.FINISH:
        return _malformed(f"[{choice}] needs something after it")
    return Action(Choice(choice), content)


def _malformed(reason: str) -> Action:
    return Action(Choice.MALFORMED, reason)


def _depth(text: str) -> int:
    """How deeply brackets nest, counted without recursion (strings may only overcount)."""
    depth = deepest = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _read_finite(digits: str) -> float:
    """Return a number; one like 1e999 reads as infinity, which no seam carries."""
    number = float(digits)
    return number if math.isfinite(number) else _refuse_constant(digits[:32])
