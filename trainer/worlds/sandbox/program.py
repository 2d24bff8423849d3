"""What a sandbox is asked to run, and what it says became of every call: plain values.

Nothing here runs anything or knows which answers are right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class SandboxError(Exception):
    """The sandbox itself failed: no word about the program, and never a reason to score it."""


class Namespace(StrEnum):
    """Where a program's names live."""

    FRESH = "fresh"
    """The source runs once, as a module; all calls share its names."""
    STRICT = "strict"
    """The source runs before each call with local names, as inside a function: what it defines
    is visible to the call and not to the functions it defines (Python up to 3.12)."""


class Outcome(StrEnum):
    """What became of one call."""

    VALUE = "value"
    RAISED = "raised"
    """It raised; `detail` is the name of the exception's type."""
    UNREADABLE = "unreadable"
    """It returned something too large or too deep to travel."""
    TIMEOUT = "timeout"
    DIED = "died"
    """The process ended in the middle: an exit, a crash, too much memory for the kernel."""
    FLOODED = "flooded"
    """More output than the sandbox carries, or bytes that are no output at all."""


@dataclass(frozen=True)
class Bounds:
    """What one program may use."""

    call_s: float = 1.0
    """Processor seconds of one call, and of running the source."""
    wait_s: float = 3.0
    """Seconds on the clock of one call, for one that sleeps."""
    total_s: float = 10.0
    """Seconds on the clock of all calls together; calls not begun by then have timed out."""
    memory_bytes: int = 256 << 20
    """Growth of address space."""
    file_bytes: int = 1 << 20
    """Size of any one file, where files can be written at all."""
    answer_bytes: int = 1 << 20
    """Size of all returned values together, as text."""


@dataclass(frozen=True)
class Program:
    """Source code, and the calls to make of it."""

    source: str
    calls: tuple[str, ...]
    """Expressions, each evaluated where the source's names are."""
    namespace: Namespace = Namespace.FRESH
    bounds: Bounds = Bounds()
    refuse_unsandboxed: bool = False
    """True to fail, rather than to run, where the kernel holds no fence around it."""

    def to_json(self) -> dict[str, Any]:
        """Return the program as plain JSON values; `from_json` is its inverse."""
        return asdict(self)


def from_json(values: Mapping[str, Any]) -> Program:
    """Build a program from what `Program.to_json` returned."""
    return Program(
        source=values["source"],
        calls=tuple(values["calls"]),
        namespace=Namespace(values["namespace"]),
        bounds=Bounds(**values["bounds"]),
        refuse_unsandboxed=values["refuse_unsandboxed"],
    )


@dataclass(frozen=True)
class CallResult:
    """One call's outcome."""

    outcome: Outcome
    value: Any = None
    """What was returned, built anew from built-in types; None unless the outcome is `value`."""
    detail: str = ""
    """A short word on any other outcome."""


@dataclass(frozen=True)
class Evaluation:
    """What became of a program."""

    results: tuple[CallResult, ...]
    """One for each call, in order."""
    sandboxed: bool
    """False where the kernel held no fence: the results carry the label `unsandboxed`."""
