"""`python -m skill`: the scripts of the skill under one name, and the check of the skill itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from skill import lint
from skill.commands import diagnose, effect, enter, episodes, lesson, propose, restart, status
from skill.operator import naive, operator
from skill.supervisor import supervise

COMMANDS: Mapping[str, tuple[Callable[[Sequence[str]], int], str]] = {
    "status": (status.main, "how a run is: blame first, health, knobs, questions, protection"),
    "diagnose": (diagnose.main, "what is probably wrong, by which records, where to look next"),
    "episodes": (episodes.main, "dialogues of a run, as data"),
    "propose": (propose.main, "ask for a change; the gate is asked before it is submitted"),
    "effect": (effect.main, "what became of proposals, the gate's verdicts, what to do next"),
    "restart": (restart.main, "ask that a run be launched again, for a fault nothing else undoes"),
    "lesson": (lesson.main, "search what earlier runs taught, or write a lesson"),
    "operator": (operator.main, "one tick of the rule-based meta-agent"),
    "naive": (naive.main, "one tick of the stripped baseline, to compare with"),
    "supervise": (supervise.main, "a meta-agent at a fixed interval, inside a fence"),
    "enter": (enter.main, "start a coding agent by hand, inside the same fence"),
    "lint": (lint.main, "check the skill's folder, its links and the lessons"),
}
"""Name -> what it calls, and a sentence."""

MISUSE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] in ([], ["-h"], ["--help"]):
        print(_help())
        return 0 if given else MISUSE
    if given[0] not in COMMANDS:
        print(f"no command {given[0]!r}; there are {', '.join(COMMANDS)}", file=sys.stderr)
        return MISUSE
    return COMMANDS[given[0]][0](given[1:])


def _help() -> str:
    rows = "\n".join(f"  {name:<9} {told}" for name, (_, told) in COMMANDS.items())
    return (
        "usage: python -m skill COMMAND ...\n\nWatch a run and learn from it.\n\n"
        f"{rows}\n\nexample: python -m skill status latest\n"
        "each command has --help with examples; exit status: 0 fine, 1 blocked, 2 misuse"
    )
