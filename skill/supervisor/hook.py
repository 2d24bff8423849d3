"""The hook: what Claude Code may do in a checkout where no kernel holds its fence.

Claude Code runs `python -m skill.supervisor.hook` before each use of a tool, with the call as JSON
on stdin. Exit status 0 leaves the call to the client's own rules, 2 forbids it and tells the model
a next step. What cannot be decided is forbidden. Only the standard library is loaded, and of a
run nothing is known but where it lies. `EAU_FENCE=off` is a person's word that nothing is held.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skill.supervisor import bounds, plain
from skill.supervisor.bounds import PERSON, Forbidden, Place

FORBIDDEN = 2
"""The exit status that forbids; any other than it and 0 would let the call through."""
SWITCH = "EAU_FENCE"
LARGEST_CALL = 16 << 20
"""Bytes of one call."""
SCRIPTS = ("status", "diagnose", "episodes", "effect", "lesson", "propose", "restart")
"""What may be run of the skill, as a script or by `python -m skill`."""
STEERING = ("propose", "restart")
"""Those of them that write into a run."""
GATE = ("check", "log")
"""What may be run of the gate: it changes nothing."""

_PYTHON, _FOLDER = ".venv/bin/python", "skill/eau-meta-agent/scripts"
_ELSEWHERE = {"skill": ("--runs", "--experience"), "gate": ("--draft", "--patch")}
"""Options that make a command read, write or run what lies elsewhere."""
_LAUNCH = ("run.yaml", "steps.jsonl", "status.json")
"""By one of these a folder is taken for a run."""
_READS = {"Read": "file_path", "NotebookRead": "notebook_path", "LS": "path"}
_WRITES = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path"}
_WRITES |= {"NotebookEdit": "notebook_path"}
_HARMLESS = frozenset(
    "Agent AskUserQuestion BashOutput EnterPlanMode ExitPlanMode KillShell ScheduleWakeup Skill "
    "StructuredOutput Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite "
    "ToolSearch".split()
)
"""Tools that touch no file by themselves; what another agent does comes by here as well."""


def main() -> int:
    """Decide about the call on stdin and return the exit status."""
    if os.environ.get(SWITCH) == "off":
        return 0
    try:
        given = sys.stdin.buffer.read(LARGEST_CALL + 1)
        if len(given) > LARGEST_CALL:
            raise Forbidden(f"the call is larger than {LARGEST_CALL} bytes: do less at once")
        call = json.loads(given)
        place = bounds.find(Path(__file__).resolve().parents[2], os.environ, call)
        if not place.held:
            decide(place, call)
    except Forbidden as error:
        print(error, file=sys.stderr)
        return FORBIDDEN
    except Exception as error:  # any other exit status would let the call through
        told = f"{type(error).__name__}: {error}"[:300]
        print(f"the fence could not decide, so: no ({told!a})", file=sys.stderr)
        return FORBIDDEN
    return 0


def decide(place: Place, call: Mapping[str, Any]) -> None:
    """Return if a call may be made.

    Args:
        place: Where.
        call: `tool_name`, `tool_input` and `cwd`, as the client tells them.

    Raises:
        Forbidden: if it must not be made.
    """
    tool, given, cwd = call["tool_name"], call["tool_input"], Path(call["cwd"]).resolve(strict=True)
    if tool in _HARMLESS:
        return
    if tool == "Bash":
        _run(place, given["command"], cwd)
    elif tool in _READS:
        bounds.read(place, bounds.path_of(given[_READS[tool]], cwd))
    elif tool in _WRITES:
        bounds.write(place, bounds.path_of(given[_WRITES[tool]], cwd))
    elif tool == "Grep":
        bounds.search(place, bounds.path_of(given.get("path") or os.fspath(cwd), cwd))
    elif tool == "Glob":
        _glob(place, given["pattern"], bounds.path_of(given.get("path") or os.fspath(cwd), cwd))
    else:
        raise Forbidden(
            f"{tool!a} is not needed here: use the skill's scripts, Read, Edit. {PERSON}"
        )


def _run(place: Place, line: str, cwd: Path) -> None:
    try:
        words = plain.words(line)
    except plain.NotPlain as error:
        told = "Run one of the skill's scripts at a time; files are read by Read."
        raise Forbidden(f"this is no plain command: {error}. {told} {PERSON}") from error
    if cwd != place.root:
        raise Forbidden(f"commands are run in the checkout: start the client in {place.root}")
    match words:
        case ["pwd" | "date" | "true"]:
            return
        case ["sleep", seconds] if seconds.isascii() and seconds.isdigit() and len(seconds) < 4:
            return
        case ["ls", *rest]:
            _list(place, rest, cwd)
        case [python, "-m", "skill", name, *rest] if name in SCRIPTS and _ours(place, python):
            _arguments(place, "skill", name, rest)
        case [python, "-m", "gate", name, *rest] if name in GATE and _ours(place, python):
            _arguments(place, "gate", name, rest)
        case [python, path, *rest] if _ours(place, python) and (name := _script(place, path)):
            _arguments(place, "skill", name, rest)
        case _:
            raise Forbidden(
                f"only the skill's scripts are run here: `{_PYTHON} {_FOLDER}/status.py --help`, "
                f"{', '.join(SCRIPTS[1:])} likewise, `{_PYTHON} -m gate check|log RUN`, ls, sleep. "
                f"Files are read by Read, not by a command. {PERSON}"
            )


def _ours(place: Place, python: str) -> bool:
    return os.path.normpath(place.root / python) == os.fspath(place.root / _PYTHON)


def _script(place: Place, path: str) -> str:
    """Return the name of the skill's script at a path; empty if there is none."""
    found = (place.root / path).resolve()
    known = {place.root / _FOLDER / f"{name}.py": name for name in SCRIPTS}
    return known.get(found, "")


def _arguments(place: Place, package: str, name: str, words: list[str]) -> None:
    """Refuse arguments that lead a script, or the gate, to what is closed or another's."""
    for word in words:
        option, _, value = word.partition("=")
        # argparse takes the beginning of an option for the whole of it.
        if len(option) > 2 and any(one.startswith(option) for one in _ELSEWHERE[package]):
            raise Forbidden(f"{option} leads elsewhere: leave it out; RUN is a name under runs/")
        for text in (word, value):
            if ".." in text.split("/"):
                raise Forbidden(f"{text!a} climbs: name it without '..'")
            for path in (place.root / text, place.runs / text) if text else ():
                _argument(place, name, path)


def _argument(place: Place, name: str, path: Path) -> None:
    if not os.path.lexists(path):
        return
    found = path.resolve()
    bounds.refuse_closed(place, found)
    if any((found / one).exists() for one in _LAUNCH):
        if found != place.run and found.parent != place.runs:
            raise Forbidden(f"{found} is no run of this checkout: name one under runs/, or latest")
        if found != place.run and name in STEERING:
            raise Forbidden(bounds.another(place))


def _list(place: Place, words: list[str], cwd: Path) -> None:
    flags = [word for word in words if word.startswith("-")]
    if any(set(flag[1:]) - set("1aAhlrt") for flag in flags):
        raise Forbidden("ls takes -1aAhlrt and lists one folder at a time: name that")
    for word in words:
        if word not in flags:
            bounds.read(place, bounds.path_of(word, cwd))


def _glob(place: Place, pattern: str, base: Path) -> None:
    parts = pattern.split("/")
    wild = [index for index, part in enumerate(parts) if set(part) & set("*?[]{}()!+@")]
    first = min(wild, default=len(parts))
    if ".." in parts[first:] or "," in pattern:
        raise Forbidden("a pattern neither climbs nor chooses here: name one folder and *.md")
    start = "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")
    found = bounds.path_of(start, base)
    if parts[first:] and (len(parts) - first > 1 or "**" in parts[first]):
        bounds.search(place, found)
    else:
        bounds.read(place, found)


if __name__ == "__main__":
    raise SystemExit(main())
