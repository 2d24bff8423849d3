"""`enter`: start a coding agent by hand inside the fence that a supervised tick has.

The terminal stays the person's; what the agent may write and read is held by the kernel.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from skill.commands import asking, lesson
from skill.supervisor import belongings, enclosure
from skill.supervisor.enclosure import Kind, Plan

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLE = (
    "  python -m skill enter latest -- claude\n"
    "  python -m skill enter latest -- codex --sandbox danger-full-access\n\n"
    "Codex is told to make no sandbox of its own, since none can be made inside the fence; `codex "
    "exec` also\nneeds --skip-git-repo-check, since the history is hidden."
)
STATE = (".claude", ".codex", ".cache", ".config")
"""Folders of a home that a client keeps its own state in."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command inside the fence; the exit status is 1 where none is to be had."""
    made = argparse.ArgumentParser(
        prog="python -m skill enter",
        description="Start a coding agent by hand, with candidate/, proposals/ and experience/ "
        "writable, everything else of the checkout read-only, and evaluation unreadable.",
        epilog=f"examples:\n{EXAMPLE}\n\nexit status: the command's; 1 blocked, 2 misuse",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    asking.add_run(made)
    made.add_argument("command", nargs="+", help="the program and its arguments, after --")
    options = made.parse_args(arguments)
    run = asking.run_of(options)
    if shutil.which(options.command[0]) is None:
        asking.misuse(f"{options.command[0]}: no such program")
    root = run.root.resolve()
    owned = [path.resolve() for path in belongings.owned(run, lesson.place(os.environ))]
    home = Path(os.environ.get("HOME") or Path.home())
    state = [path for name in STATE if (path := home / name).is_dir()]
    scratch = Path(tempfile.mkdtemp(prefix="eau-session-"))
    plan = Plan(
        writable=tuple((path, path) for path in (*owned, *state, scratch)),
        hidden=belongings.hidden(CHECKOUT, os.environ),
        closed=(root, *belongings.live_knobs(run), CHECKOUT),
        terminal=True,
    )
    kind, reasons = enclosure.best(plan, cwd=CHECKOUT)
    if kind is Kind.NONE:
        shutil.rmtree(scratch, ignore_errors=True)
        print(f"no kernel fence is to be had here ({'; '.join(reasons)})", file=sys.stderr)
        return asking.BLOCKED
    os.environ.update(TMPDIR=os.fspath(scratch), EAU_RUN=os.fspath(root))
    # Clients that keep settings beside their folder would have to replace a file of the home.
    if (home / ".claude").is_dir():
        os.environ.setdefault("CLAUDE_CONFIG_DIR", os.fspath(home / ".claude"))
    words = enclosure.wrap(kind, plan, options.command)
    # Ctrl-C is the client's to understand; it shares this terminal.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(words, cwd=CHECKOUT, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)
        shutil.rmtree(scratch, ignore_errors=True)
