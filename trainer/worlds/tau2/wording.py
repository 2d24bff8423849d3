"""Words of the desk: the rules of a turn, the policy, the tools, and what was said before.

`full` shows every tool's parameters as JSON Schema; `compact` shows one line a tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trainer.worlds.prompt_style import COMPACT
from trainer.worlds.tau2.office import Outcome
from trainer.worlds.tau2.toolkit import Tool

_RULES = """\
You are a customer service agent and follow the policy below. In each turn you either write to the \
user or make one tool call, never both. Plain words go to the user. A tool call is written as
<tool_call>{"name": "...", "arguments": {...}}</tool_call>
and its result comes back to you alone. Only the user can end the conversation: when everything is \
done, ask whether there is anything else. You have %d turns in all."""


def system(
    policy: str,
    tools: Sequence[Tool],
    *,
    style: str,
    max_steps: int,
    history: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the system prompt of a session.

    Args:
        policy: What the agent may and must do.
        tools: The agent's tools.
        style: `compact` or `full`.
        max_steps: Turns that the agent has.
        history: Messages that were exchanged before.
    """
    shown = "\n".join(_line(tool) if style == COMPACT else _schema(tool) for tool in tools)
    parts = [_RULES % max_steps, f"<policy>\n{policy.strip()}\n</policy>"]
    parts.append(f"<tools>\n{shown}\n</tools>")
    if history:
        parts.append("What happened before:\n" + "\n".join(map(_message, history)))
    return "\n\n".join(parts)


def seen_by_user(outcomes: Sequence[Outcome]) -> str:
    """Return what the user tells of calls of their own; empty where there are none."""
    told = []
    for outcome in outcomes:
        arguments = ", ".join(map(str, outcome.call.arguments.values()))
        told.append(f"(The user did {outcome.call.name}({arguments}).) {outcome.text}")
    return "\n".join(told)


def _line(tool: Tool) -> str:
    needed = set(tool.parameters.get("required", ()))
    names = (f"{name}{'' if name in needed else '?'}" for name in tool.parameters["properties"])
    return f"{tool.name}({', '.join(names)}): {tool.summary}"


def _schema(tool: Tool) -> str:
    return json.dumps(
        {"name": tool.name, "description": tool.summary, "parameters": dict(tool.parameters)}
    )


def _message(message: Mapping[str, Any]) -> str:
    calls = "".join(
        f" {call['name']}({json.dumps(call.get('arguments') or {})})"
        for call in message.get("tool_calls") or ()
    )
    return f"{message['role']}:{calls} {message.get('content') or ''}".rstrip()
