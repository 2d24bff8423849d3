"""Words of the desks: the rules of a turn, the policy, and the tools.

The policy stands in the prompt: gold actions follow it, so whoever does not see it can only guess.
Tools stand there one a line; `[search] tools` shows their parameters as JSON Schema.
"""

from __future__ import annotations

import json
from functools import lru_cache

from trainer.worlds.prompt_style import COMPACT, FULL
from trainer.worlds.tau2.toolkit import Tool

from .desks import DESKS  # noqa: TID252 - the folder is loaded by path

_COMPACT = """\
You serve a customer and follow the policy. One move a turn, %d turns in all:
[action] words to the customer
[answer] {"name": "...", "arguments": {...}}
[search] tools
When all is done, ask whether there is anything else: only the customer ends the conversation."""
_FULL = """\
You are a customer service agent and follow the policy below. In each turn you make one move:

[action] and words to the customer
[answer] {"name": "...", "arguments": {...}} to call a tool; its result comes back to you alone
[search] tools to see every tool with its parameters, which costs a turn

Never write to the customer and call a tool in one turn. Names and arguments of a call are JSON. \
Only the customer can end the conversation, or `transfer_to_human_agents`, which ends it at once: \
when everything is done, ask whether there is anything else. You have %d turns in all."""
_RULES = {COMPACT: _COMPACT, FULL: _FULL}


@lru_cache(maxsize=64)
def system(domain: str, policy: str, style: str, max_steps: int) -> str:
    """Return the system prompt of a dialogue.

    Args:
        domain: Name of the desk.
        policy: What the agent may and must do.
        style: `compact` or `full`.
        max_steps: Turns that the agent has.
    """
    shown = "\n".join(map(_line, DESKS[domain].agent.tools.values()))
    return (
        f"{_RULES[style] % max_steps}\n\n<policy>\n{policy.strip()}\n</policy>\n\n"
        f"<tools>\n{shown}\n</tools>"
    )


@lru_cache(maxsize=8)
def listing(domain: str) -> str:
    """Return every tool of a desk with its parameters, one a line."""
    return "\n".join(map(_schema, DESKS[domain].agent.tools.values()))


def _line(tool: Tool) -> str:
    return f"{tool.name}({', '.join(tool.parameters['properties'])}): {tool.summary}"


def _schema(tool: Tool) -> str:
    return json.dumps(
        {"name": tool.name, "description": tool.summary, "parameters": dict(tool.parameters)}
    )
