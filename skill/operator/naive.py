"""The naive baseline: no skill, no symbolic user, and not a word while a run is live.

What is left of the method when everything but "look at the result and launch again" is taken away.
Once a run has ended, it asks for another launch with one setting drawn by a seed; it exists to be
compared with, and nobody should train by it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gate.contract import launch_record, restarts
from gate.contract.findings import Refused
from gate.contract.paths import RunPaths
from gate.contract.restarts import Fault, RestartRequest
from skill import standing
from skill.commands import asking
from skill.diagnosis import signals, windows
from skill.operator.playbook import Move, Turn

AUTHOR = "naive"
FIXED: Mapping[str, Any] = {"knobs.user.user_strategy_mix": 0.0}
"""Recipe values of every launch: the symbolic user never speaks."""

DRAWN: Sequence[Move] = (
    Move("agent.actor_lr", Turn.TIMES, 2.0),
    Move("agent.actor_lr", Turn.TIMES, 0.5),
    Move("agent.entropy_coeff", Turn.ADD, 0.002),
    Move("agent.kl_coeff", Turn.ADD, 0.005),
    Move("agent.gae_lambda", Turn.ADD, -0.05),
    Move("environment.max_steps", Turn.ADD, 4),
)
"""What one launch may change against the one before."""

ENDED = frozenset({"finished", "stopped", "failed"})


class Drawn(NamedTuple):
    """One setting of the next launch."""

    key: str
    value: Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one tick: nothing while the run is live, a request for another launch once it ended."""
    made = asking.parser(
        "python -m skill naive",
        "The stripped baseline: it only asks for another launch, with one setting drawn by a "
        "seed, once a run has ended.",
        "  python -m skill naive latest --seed 1 --json",
        limit=1,
    )
    asking.add_run(made)
    made.add_argument("--seed", type=int, default=0, help="of the draw (default: %(default)s)")
    options = made.parse_args(arguments)
    run = asking.run_of(options)
    report = tick(run, seed=options.seed)
    print(json.dumps(report) if options.json else f"{report['act']}: {report['because']}")
    return asking.FINE


def tick(run: RunPaths, *, seed: int) -> dict[str, Any]:
    """Return what was done, as JSON values.

    Args:
        run: The run.
        seed: Of the draw; the same run and seed draw the same.
    """
    window = windows.read(run, now=0.0)
    phase = str(window.status.get("phase", "unknown"))
    success = signals.mean(signals.values(window.steps, "success")[-10:])
    told = "unknown" if success is None else f"{success:.3f}"
    if phase not in ENDED or restarts.read(run):
        return {"act": "hold", "because": f"the run is {phase}; success {told}", "request": None}
    step = standing.last_step(run)
    drawn = draw(window, seed=seed, attempt=launch_record.attempt(run.root))
    request = RestartRequest(
        fault=Fault.LAUNCH_SETTING_WRONG,
        because=f"success {told} over the last 10 steps; try {drawn.key} = {drawn.value}",
        author=AUTHOR,
        steps=(max(step, 1),),
        sets={**FIXED, drawn.key: drawn.value},
    )
    try:
        number = restarts.submit(run, request)
    except Refused as refused:
        return {"act": "leave", "because": str(refused), "request": None}
    return {"act": "restart", "because": request.because, "request": number}


def draw(window: windows.Window, *, seed: int, attempt: int) -> Drawn:
    """Return the setting that the next launch changes.

    Args:
        window: The run that ended.
        seed: Of the draw.
        attempt: Which launch ended; each draws anew.
    """
    move = random.Random(f"naive {seed} {attempt}").choice(DRAWN)
    old = window.knob(move.knob)
    return Drawn(f"knobs.{move.knob}", move.value(old, {}))
