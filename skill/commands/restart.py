"""`restart`: ask that a run be ended and launched again, for a fault that nothing else undoes.

It only asks, by a file; `eau iterate` or a person grants it. Five launches are all that an
experiment has, aborted ones included.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from gate.contract import launch_record, restarts
from gate.contract.files import DiskFull
from gate.contract.findings import Refused
from gate.contract.restarts import Fault, RestartRequest
from skill import proposing, standing
from skill.commands import asking
from skill.commands.page import show_json
from skill.proposing import Autonomy

EXAMPLE = (
    "  restart.py latest --fault policy_collapsed --step 212 --author claude \\\n"
    '      --because "one reply to every task since step 190; proposal 4 was judged null"\n'
    "  restart.py latest --budget"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask for a restart, or show the budget; the exit status is 1 when it cannot be asked for."""
    faults = "\n".join(f"  {fault}: {told}" for fault, told in restarts.MEANINGS.items())
    made = asking.parser(
        "restart.py",
        "Ask that the run be ended and launched again. Only for a fault that no change of the "
        f"live run undoes:\n{faults}",
        EXAMPLE,
        limit=5,
    )
    asking.add_run(made)
    made.add_argument("--fault", choices=list(Fault), help="what cannot be undone")
    made.add_argument("--because", default="", help="what was seen, in a sentence")
    made.add_argument("--step", action="append", type=int, default=[], help="a step that shows it")
    made.add_argument("--episode", action="append", default=[], help="an episode that shows it")
    made.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="for the next launch"
    )
    made.add_argument("--author", default="meta-agent")
    made.add_argument("--dry-run", action="store_true", help="say what would be asked")
    made.add_argument("--budget", action="store_true", help="only show the launches left")
    options = made.parse_args(arguments)
    run = asking.run_of(options)
    attempt, most = launch_record.attempt(run.root), launch_record.MOST_ATTEMPTS
    answer: dict[str, Any] = {
        "launch": attempt,
        "launches_allowed": most,
        "launches_left": max(0, most - attempt),
        "asked_before": [request.fault.value for request in restarts.read(run)],
        "request": None,
    }
    if not options.budget:
        request = _request(options)
        missing = [step for step in request.steps if step > standing.last_step(run)]
        if missing:
            print(f"step {missing[0]} is not on record in this run", file=sys.stderr)
            return asking.BLOCKED
        if proposing.autonomy(os.environ) is Autonomy.WATCH and not options.dry_run:
            print("this tick only watches: put the request into your report", file=sys.stderr)
            return asking.BLOCKED
        try:
            answer["request"] = None if options.dry_run else restarts.submit(run, request)
        except (Refused, DiskFull) as error:
            print(f"{error}", file=sys.stderr)
            return asking.BLOCKED
    if options.json:
        show_json(answer, lists=("asked_before",))
    else:
        print(f"launch {attempt} of {most}; {answer['launches_left']} left")
        if answer["request"] is not None:
            print(f"asked for: request {answer['request']}; whoever launches runs decides")
    return asking.FINE


def _request(options: Any) -> RestartRequest:
    if options.fault is None or not options.because.strip():
        asking.misuse("--fault and --because are needed; --help lists the faults")
    if not options.step and not options.episode:
        asking.misuse("cite what shows it: --step N or --episode ID")
    sets: dict[str, Any] = {}
    for pair in options.set:
        key, equals, text = pair.partition("=")
        if not equals:
            asking.misuse(f"--set {pair!r} is not KEY=VALUE")
        try:
            sets[key] = json.loads(text)
        except ValueError:
            sets[key] = text
    return RestartRequest(
        fault=Fault(options.fault),
        because=options.because,
        author=options.author,
        steps=tuple(options.step),
        episodes=tuple(options.episode),
        sets=sets,
    )
