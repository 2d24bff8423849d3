"""Asking: how every command takes its arguments and ends.

No command prompts. Exit status: 0 fine, 1 blocked (what was asked for could not be had), 2 misuse.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from gate.contract.paths import RunPaths
from skill.locate import RUNS, NoRun, find_run

FINE, BLOCKED, MISUSE = 0, 1, 2

MOST_ENTRIES = 200
"""No page holds more, whatever `--limit` says; a larger number is taken for this one."""


def parser(name: str, promise: str, example: str, *, limit: int) -> argparse.ArgumentParser:
    """Return a parser with the options of every command.

    Args:
        name: The command.
        promise: What it does.
        example: Lines that can be copied.
        limit: Default of `--limit`.
    """
    made = argparse.ArgumentParser(
        prog=name,
        description=promise,
        epilog=f"examples:\n{example}\n\nexit status: 0 fine, 1 blocked, 2 misuse",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    shared(made, limit=limit)
    return made


def shared(made: argparse.ArgumentParser, *, limit: int) -> None:
    """Add `--json` and `--limit` to a parser."""
    made.add_argument("--json", action="store_true", help="print one JSON object, for programs")
    made.add_argument(
        "--limit", type=_positive, default=limit, help="most entries shown (default: %(default)s)"
    )


def add_run(made: argparse.ArgumentParser) -> None:
    """Add the run to a parser: a directory, a name under --runs, or `latest`."""
    made.add_argument("run", help="a run's directory, its name, or 'latest'")
    made.add_argument("--runs", type=Path, default=RUNS, help="where runs live (default: runs)")


def run_of(options: argparse.Namespace) -> RunPaths:
    """Return the run that was asked for, or end with a sentence and exit status 2.

    Args:
        options: Parsed with the arguments of `add_run`.
    """
    try:
        return find_run(options.run, options.runs)
    except NoRun as error:
        misuse(str(error))


def misuse(sentence: str) -> NoReturn:
    """End with a sentence on stderr and exit status 2."""
    print(sentence, file=sys.stderr)
    raise SystemExit(MISUSE)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return min(number, MOST_ENTRIES)
