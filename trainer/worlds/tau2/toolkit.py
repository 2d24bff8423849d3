"""Tools: named functions over a database, with a signature, and whether they may change it.

A tool is a plain function of a `Database` and its annotated parameters, made a `Tool` by one of
the decorators `read`, `write` and `generic`; the first paragraph of its docstring is what an agent
reads about it. A tool refuses by raising `ToolError`; whatever else it raises is a fault of the
program. Nothing here knows which domains there are.

    @write
    def close_ticket(db: Database, ticket_id: str) -> dict[str, Any]:
        \"\"\"Close a ticket.\"\"\"
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.signature import fault_in, parameters_of


class ToolError(ValueError):
    """A tool refuses; the message is what its caller reads."""


class Kind(StrEnum):
    """What a tool does to its database."""

    READ = "read"
    WRITE = "write"
    GENERIC = "generic"
    """Nothing: it has no business with the database."""


@dataclass(frozen=True)
class Tool:
    """One tool."""

    name: str
    kind: Kind
    summary: str
    parameters: Mapping[str, Any]
    """JSON Schema of its arguments."""
    function: Callable[..., Any]

    @property
    def mutates(self) -> bool:
        """True when it may change the database."""
        return self.kind is Kind.WRITE

    @property
    def signature(self) -> dict[str, Any]:
        """Kind and parameters as plain JSON values."""
        return {
            "tool_type": self.kind.value,
            "mutates_state": self.mutates,
            "parameters": dict(self.parameters),
        }

    def run(self, database: Database, arguments: Mapping[str, Any]) -> str:
        """Carry the tool out and return what it says.

        Raises:
            ToolError: if the arguments do not fit the signature, or the tool refuses.
        """
        closed = {**self.parameters, "additionalProperties": False}
        fault = fault_in(dict(arguments), closed, self.parameters, self.name)
        if fault:
            raise ToolError(fault)
        return render(self.function(database, **arguments))


Check = Callable[..., bool]
"""A question about a database that a task may ask by name; its first parameter is the database."""
Setup = Callable[..., Any]
"""A change of a database that a task may ask for by name before the dialogue begins."""


@dataclass(frozen=True)
class Toolkit:
    """What one side can do: tools it may call, and functions that only task data may name."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    setups: Mapping[str, Setup] = field(default_factory=dict)
    checks: Mapping[str, Check] = field(default_factory=dict)


def toolkit(
    *tools: Tool, setups: tuple[Setup, ...] = (), checks: tuple[Check, ...] = ()
) -> Toolkit:
    """Return a toolkit whose entries go by the names of their functions."""
    return Toolkit(
        tools={tool.name: tool for tool in tools},
        setups={function.__name__: function for function in setups},
        checks={function.__name__: function for function in checks},
    )


def read(function: Callable[..., Any]) -> Tool:
    """Make a tool that only looks."""
    return _tool(function, Kind.READ)


def write(function: Callable[..., Any]) -> Tool:
    """Make a tool that changes its database."""
    return _tool(function, Kind.WRITE)


def generic(function: Callable[..., Any]) -> Tool:
    """Make a tool that has no business with the database."""
    return _tool(function, Kind.GENERIC)


def render(value: Any) -> str:
    """Return what a tool's result reads like: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _tool(function: Callable[..., Any], kind: Kind) -> Tool:
    summary = inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    return Tool(function.__name__, kind, summary, parameters_of(function), function)
