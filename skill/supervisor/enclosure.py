"""Enclosures: what a command may write and read is held by the kernel, as far as this machine can.

Bubblewrap where it is installed, a cell of namespaces of our own where it is not, nothing where the
container forbids both; which of them works is tried, not guessed. Nothing here knows about runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

CELL = Path(__file__).with_name("cell.py")
PROBE_S = 20.0

_PROBE = """
import json, os, sys
plan = json.loads(sys.argv[1])
# A name that nothing else has: a folder of the run by that name would look like a broken fence.
mark = f".trial-of-the-fence-{os.getpid()}"
for path in plan["closed"]:
    try:
        os.close(os.open(os.path.join(path, mark), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        sys.exit("writable: " + path)
    except OSError as error:
        if error.errno not in (1, 13, 30):
            raise
for path in plan["hidden"]:
    if os.path.isdir(path) and os.listdir(path):
        sys.exit("readable: " + path)
for _, path in plan["writable"]:
    name = os.path.join(path, mark)
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    os.unlink(name)
print("fenced")
"""


class Kind(StrEnum):
    """By what a command is held."""

    BUBBLEWRAP = "bubblewrap"
    NAMESPACES = "namespaces"
    NONE = "none"
    """Nothing: evaluation can be read, and what was written is only found afterwards."""


class NotHeld(ValueError):
    """No enclosure that was asked for holds here; the message says why and what to do."""


@dataclass(frozen=True)
class Plan:
    """What a command may do."""

    writable: tuple[tuple[Path, Path], ...] = ()
    """Folders that it may write: where they lie, and where it sees them. The rest is read-only."""
    hidden: tuple[Path, ...] = ()
    """Folders that it finds empty."""
    network: bool = True
    """False to leave it without any."""
    closed: tuple[Path, ...] = ()
    """Folders that the trial makes sure cannot be written."""
    terminal: bool = False
    """True where a person sits at it and the terminal's keys should reach the command."""


def wrap(kind: Kind, plan: Plan, command: Sequence[str]) -> list[str]:
    """Return a command's words inside an enclosure.

    Args:
        kind: By what it is held.
        plan: What it may do.
        command: The program and its arguments.
    """
    if kind is Kind.BUBBLEWRAP:
        return [*_bubblewrap(plan), "--", *command]
    if kind is Kind.NAMESPACES:
        return [sys.executable, "-I", os.fspath(CELL), _as_json(plan), "--", *command]
    return list(command)


def best(plan: Plan, *, cwd: Path, kinds: Sequence[Kind] = tuple(Kind)) -> tuple[Kind, list[str]]:
    """Return the first enclosure that holds a plan here, and why the ones before do not.

    Args:
        plan: What a command will be allowed.
        cwd: Where it will start.
        kinds: Which to try, in this order; `NONE` holds nothing and always works.
    """
    reasons: list[str] = []
    for kind in kinds:
        why_not = "" if kind is Kind.NONE else _trial(kind, plan, cwd)
        if not why_not:
            return kind, reasons
        reasons.append(f"{kind}: {why_not}")
    return Kind.NONE, reasons


def _trial(kind: Kind, plan: Plan, cwd: Path) -> str:
    """Run a small program in an enclosure that tries to get out; empty if it could not."""
    if kind is Kind.BUBBLEWRAP and shutil.which("bwrap") is None:
        return "bwrap is not installed"
    words = wrap(kind, plan, [sys.executable, "-I", "-c", _PROBE, _as_json(plan)])
    try:
        ended = subprocess.run(
            words, capture_output=True, text=True, timeout=PROBE_S, cwd=cwd, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)[:200]
    told = (ended.stderr or ended.stdout).strip().splitlines()
    return "" if ended.stdout.strip() == "fenced" else (told or ["no word"])[-1][:200]


def _as_json(plan: Plan) -> str:
    return json.dumps(
        {
            "writable": [[os.fspath(one) for one in pair] for pair in plan.writable],
            "hidden": [os.fspath(path) for path in plan.hidden],
            "closed": [os.fspath(path) for path in plan.closed],
            "network": plan.network,
        }
    )


def _bubblewrap(plan: Plan) -> list[str]:
    words = [shutil.which("bwrap") or "bwrap", "--die-with-parent"]
    words += [] if plan.terminal else ["--new-session"]
    words += ["--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--ro-bind", "/", "/"]
    words += [] if plan.network else ["--unshare-net"]
    words += ["--dev", "/dev", "--proc", "/proc"]
    for source, target in plan.writable:
        words += ["--bind", os.fspath(source), os.fspath(target)]
    for folder in plan.hidden:
        if folder.is_dir():
            words += ["--tmpfs", os.fspath(folder), "--remount-ro", os.fspath(folder)]
    return words
