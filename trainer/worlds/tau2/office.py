"""The office: both databases and both toolkits of one episode, and everything done with them.

Agent and user each have a database and tools of their own. After each call the domain may bring
the two in line (`Domain.sync`). A tool that refuses is an outcome; a function that task data names
and that is not there is a fault of the data and raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainer.worlds.tau2.case import Assertion, Case, NamedCall, Side
from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError, Toolkit

TRANSFER = "transfer_to_human_agents"
"""The tool by which an agent hands the user over; every domain has it."""


@dataclass(frozen=True)
class Domain:
    """What a world says about its tools; everything else is the same for all of them."""

    name: str
    agent: Toolkit
    user: Toolkit = field(default_factory=Toolkit)
    sync: Callable[[Office], None] | None = None
    """Brings both databases in line after a call; None where they do not depend on each other."""
    heeds: Callable[[Office, str], Sequence[NamedCall]] | None = None
    """Reads from the agent's words what the user is asked to do with tools of their own; None where
    users do nothing for being asked."""
    hand_over_ends: bool = False
    """True where the hand-over itself ends a dialogue, not the words that follow it."""

    def toolkit(self, side: Side) -> Toolkit:
        """Return the toolkit of a side."""
        return self.agent if side is Side.AGENT else self.user


@dataclass(frozen=True)
class Outcome:
    """What became of a call."""

    call: NamedCall
    text: str
    """What the caller reads: the result, or `Error: ` and the reason."""
    ok: bool
    mutates: bool
    """True when the tool may change a database, whether or not it did."""


@dataclass
class Office:
    """One episode's state."""

    domain: Domain
    agent: Database
    user: Database
    log: list[Outcome] = field(default_factory=list)
    """Every call since the office opened, in order."""

    def database(self, side: Side) -> Database:
        """Return the database of a side."""
        return self.agent if side is Side.AGENT else self.user

    def call(self, call: NamedCall) -> Outcome:
        """Carry out a tool call and note what became of it; a tool that is not there refuses."""
        tool = self.domain.toolkit(call.side).tools.get(call.name)
        try:
            if tool is None:
                raise ToolError(f"there is no tool named {call.name[:40]!r}")
            text, ok = tool.run(self.database(call.side), call.arguments), True
        except ToolError as error:
            text, ok = f"Error: {error}", False
        # A refusal may quote the caller, and half a surrogate pair travels over no seam.
        text = text.encode(errors="replace").decode()
        outcome = Outcome(call, text, ok, mutates=tool is not None and tool.mutates)
        self.log.append(outcome)
        self.synchronise()
        return outcome

    def prepare(self, call: NamedCall) -> None:
        """Carry out a change that task data asks for before the dialogue.

        Raises:
            ValueError: if there is no such function, or it refuses.
        """
        kit = self.domain.toolkit(call.side)
        tool = kit.tools.get(call.name)
        function = tool.function if tool else kit.setups.get(call.name)
        if function is None:
            raise ValueError(f"{self.domain.name} has no function {call.name!r} for {call.side}")
        function(self.database(call.side), **call.arguments)
        self.synchronise()

    def holds(self, assertion: Assertion) -> bool:
        """Return whether a check answers as expected on the state as it is.

        Raises:
            ValueError: if there is no such check.
        """
        call = assertion.call
        check = self.domain.toolkit(call.side).checks.get(call.name)
        if check is None:
            raise ValueError(f"{self.domain.name} has no check {call.name!r} for {call.side}")
        return check(self.database(call.side), **call.arguments) is assertion.expected

    def synchronise(self) -> None:
        """Bring both databases in line, where the domain asks for it."""
        if self.domain.sync is not None:
            self.domain.sync(self)


@dataclass(frozen=True)
class Bases:
    """The content of both databases before any episode; shared, never written."""

    agent: Mapping[str, Any] = field(default_factory=dict)
    user: Mapping[str, Any] = field(default_factory=dict)


def open_office(domain: Domain, case: Case, bases: Bases) -> Office:
    """Return the state in which a case begins.

    Data is laid over both databases first, then the changes are made that the case asks for, then
    the calls of the messages exchanged before are made again. None of them is in the log.

    Raises:
        ValueError: if the case names a function that is not there.
    """
    office = Office(domain, Database(bases.agent), Database(bases.user))
    office.agent.merge(case.agent_data)
    office.user.merge(case.user_data)
    office.synchronise()
    for call in case.setups:
        office.prepare(call)
    for call in _past_calls(case):
        office.call(call)
    office.log.clear()
    return office


def close_by_gold(domain: Domain, case: Case, bases: Bases) -> Office:
    """Return the state in which a case should end: all gold actions done, refusals in the log."""
    office = open_office(domain, case, bases)
    for action in case.actions:
        office.call(action.call)
    return office


def _past_calls(case: Case) -> list[NamedCall]:
    return [
        NamedCall(Side(message["role"]), call["name"], call.get("arguments") or {})
        for message in case.history
        for call in message.get("tool_calls") or ()
    ]
