"""The operator: one bounded tick of a meta-agent that follows the playbook, for any run.

It looks, writes the lessons that verdicts allow, decides, and proposes by the scripts; after two
refusals by the gate it stops. It needs no network, and the same run gives the same tick.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gate.contract import ledger
from gate.contract.paths import RunPaths
from skill import fence, standing
from skill.commands import asking, lesson
from skill.commands.page import show_json
from skill.diagnosis import windows
from skill.diagnosis.detectors import examine
from skill.experience import pool
from skill.operator import lessons, scripts
from skill.operator.decision import Act, Decision, Option, decide

AUTHOR = "operator"
MOST_REFUSALS = 2
EXAMPLE = "  python -m skill operator latest\n  python -m skill operator latest --dry-run --json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one tick; the exit status is 1 when the run's ledger cannot be read."""
    made = asking.parser(
        "python -m skill operator",
        "One tick of the rule-based meta-agent: lessons for verdicts, then one proposal or none.",
        EXAMPLE,
        limit=6,
    )
    asking.add_run(made)
    made.add_argument(
        "--experience", type=Path, default=lesson.place(os.environ), help="the pool's directory"
    )
    made.add_argument("--dry-run", action="store_true", help="decide and write nothing")
    options = made.parse_args(arguments)
    run = asking.run_of(options)
    try:
        report = tick(run, experience=options.experience, dry_run=options.dry_run)
    except ledger.Damaged as error:
        print(f"the ledger cannot be read: {error}")
        return asking.BLOCKED
    if options.json:
        show_json(report, lists=("tried", "lessons"))
    else:
        print(f"{report['act']}: {fence.visible(report['because'])}")
        for one in (*report["tried"], *report["lessons"]):
            print(f"  {fence.visible(json.dumps(one))}")
    return asking.FINE


def tick(run: RunPaths, *, experience: Path, dry_run: bool = False) -> dict[str, Any]:
    """Look at a run, do one thing or nothing, and return a report as JSON values.

    Args:
        run: The run.
        experience: The folder that holds the pool of lessons.
        dry_run: Only decide.

    Raises:
        gate.contract.ledger.Damaged: if the run's ledger cannot be read.
    """
    window = windows.read(run, now=time.time())
    step = standing.last_step(run) + 1
    found = standing.read(run, step=step)
    known = pool.read(experience / "lessons")
    written: list[lessons.Written] = []
    if not dry_run:
        root = run.root.resolve()
        written += lessons.write(
            window,
            found,
            known,
            author=AUTHOR,
            runs=str(root.parent),
            experience=str(experience),
        )
    decision = decide(
        window,
        examine(window),
        found,
        known,
        revisions=ledger.revisions(run.ledger),
        resting=standing.resting(run, step=step),
    )
    tried = [] if dry_run else list(_try(run, decision))
    return {
        "step": step,
        "act": decision.act.value,
        "because": decision.because,
        "symptom": None if decision.symptom is None else decision.symptom.name,
        "options": [
            {"knob": one.knob, "old": one.old, "new": one.new, "takes_back": one.takes_back}
            for one in decision.options
        ],
        "tried": tried,
        "lessons": [vars(one) for one in written],
    }


def _try(run: RunPaths, decision: Decision) -> list[dict[str, Any]]:
    """Propose the options in order until one is submitted or the gate refused twice."""
    tried: list[dict[str, Any]] = []
    if decision.act is not Act.PROPOSE or decision.symptom is None:
        return tried
    for option in decision.options[:MOST_REFUSALS]:
        answer = scripts.ask("propose", _arguments(run, decision, option))
        tried.append(
            {
                "knob": option.knob,
                "new": option.new,
                "takes_back": option.takes_back,
                "submitted": bool(answer.value.get("submitted")),
                "proposal": answer.value.get("proposal"),
                "refused_by": [
                    one.get("rule")
                    for one in answer.value.get("findings", [])
                    if one.get("severity") == "error"
                ],
                "said": answer.said,
            }
        )
        if answer.value.get("submitted"):
            break
    return tried


def _arguments(run: RunPaths, decision: Decision, option: Option) -> list[str]:
    assert decision.symptom is not None
    cited = decision.symptom.cited
    arguments = [str(run.root.resolve()), "--why", decision.because, "--author", AUTHOR]
    if option.takes_back is not None:
        arguments += ["--take-back", str(option.takes_back)]
        arguments += ["--expect", f"success:up:{option.expected:g}"]
    else:
        arguments += ["--set", f"{option.knob}={json.dumps(option.new)}"]
    if (move := option.move) is not None:
        arguments += ["--expect", f"{move.metric}:{move.direction}:{move.size:g}"]
    arguments += [part for number in cited.steps for part in ("--step", str(number))]
    arguments += [part for name in cited.episodes for part in ("--episode", name)]
    return arguments
