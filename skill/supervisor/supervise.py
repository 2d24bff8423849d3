"""`supervise`: ticks of a meta-agent at a fixed interval of training steps, until the run ends.

Level-triggered: what counts is the step in `status.json` against the last tick on file, so nothing
is lost when either side is restarted. The trainer knows nothing of it and waits for nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import filelock

from gate.contract import files, ledger
from gate.contract.paths import RunPaths
from skill import fence
from skill.commands import asking, lesson
from skill.proposing import Autonomy
from skill.supervisor import tick as ticking
from skill.supervisor.agents import UnknownAgent
from skill.supervisor.enclosure import Kind, NotHeld
from skill.supervisor.tick import Order, Tick

CHECKOUT = Path(__file__).resolve().parents[2]
ENDED = frozenset({"finished", "stopped", "failed"})
STALLED_S = 300.0
"""Seconds without a heartbeat after which an agent looks once."""
LAST = 9999
EXAMPLE = (
    "  python -m skill supervise latest --agent operator\n"
    "  python -m skill supervise latest --agent claude --every 20 --autonomy propose --max-cost 5\n"
    '  python -m skill supervise latest --agent "./mine.sh {run}" --once'
)


@dataclass(frozen=True)
class Seen:
    """What `status.json` says now."""

    phase: str = "unknown"
    step: int = 0
    heartbeat: float | None = None
    pid: int | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Supervise a run; the exit status is 1 when it cannot be, or its trainer is gone."""
    options = _parser().parse_args(arguments)
    run = RunPaths(asking.run_of(options).root.resolve())
    order = Order(
        run=run,
        checkout=CHECKOUT,
        agent=options.agent,
        autonomy=Autonomy(options.autonomy),
        limit_s=options.time_limit_s,
        experience=options.experience.resolve(),
        most_usd=options.max_cost,
        seed=options.seed,
        kinds=tuple(Kind) if options.fence == "auto" else (Kind(options.fence),),
        passed=tuple(options.pass_env),
    )
    run.supervisor.mkdir(exist_ok=True)
    lock = filelock.FileLock(run.supervisor / ".lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        print(f"another supervisor watches {run.root.name}; one is enough", file=sys.stderr)
        return asking.BLOCKED
    try:
        return Supervisor(order, options, now=time.time, sleep=time.sleep).watch()
    except NotHeld as error:
        print(
            f"--fence {options.fence} does not hold here: {fence.visible(str(error))}; see "
            "docs/supervisor.md for what each needs, or let --fence auto choose",
            file=sys.stderr,
        )
        return asking.BLOCKED
    except (UnknownAgent, ledger.Damaged) as error:
        print(str(error), file=sys.stderr)
        return asking.BLOCKED
    finally:
        lock.release()


class Supervisor:
    """Watches one run and has ticks done."""

    def __init__(
        self,
        order: Order,
        options: argparse.Namespace,
        *,
        now: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """Continue from the ticks on file.

        Args:
            order: What every tick has in common.
            options: `every`, `ticks`, `once`, `max_cost`, `poll_s` and `json`, as parsed.
            now: Seconds since 1970.
            sleep: Waits for some seconds.
        """
        self._order = order
        self._options = options
        self._now = now
        self._sleep = sleep
        self._done = 0
        self._stop = False
        self._looked_at_stall: float | None = None

    def watch(self) -> int:
        """Have ticks done until the run ends, the limits are reached or somebody asks to stop."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask_to_stop)
        while not self._stop:
            seen = look(self._order.run)
            past = ticking.read_all(self._order.run)
            if self._spent(past):
                self._say(f"the ticks cost {_cost(past):.2f} USD: the limit is reached")
                return asking.FINE
            gone = seen.phase not in ENDED and seen.pid is not None and not _alive(seen.pid)
            reason = self._due(seen, past, gone)
            held = not reason or self._tick(reason, past)
            if seen.phase in ENDED or self._options.once:
                return asking.FINE if held else asking.BLOCKED
            if gone:
                self._say("the trainer is gone; `eau resume` goes on, and so may this")
                return asking.BLOCKED
            if self._options.ticks is not None and self._done >= self._options.ticks:
                return asking.FINE
            self._sleep(self._options.poll_s)
        return asking.FINE

    def _due(self, seen: Seen, past: Sequence[Mapping[str, Any]], gone: bool) -> str:
        """Return why a tick is due now; empty if none is."""
        if self._options.once:
            return "asked"
        if seen.phase in ENDED:
            done = any(one["reason"] == "ended" and one["step"] >= seen.step for one in past)
            return "" if done else "ended"
        last = max((one["step"] for one in past), default=0)
        if seen.step >= last + self._options.every:
            return "interval"
        stale = seen.heartbeat is not None and self._now() - seen.heartbeat > STALLED_S
        if (stale or gone) and self._looked_at_stall != seen.heartbeat:
            self._looked_at_stall = seen.heartbeat
            return "stalled"
        return ""

    def _tick(self, reason: str, past: Sequence[Mapping[str, Any]]) -> bool:
        """Have a tick done; False where it was put off for want of a fence."""
        number = 1 + max((_number(path.name) for path in _folders(self._order.run)), default=0)
        if number > LAST:
            self._say(f"tick {LAST} is the last that has a number")
            self._stop = True
            return True
        held = any(one["fence"] != Kind.NONE for one in past)
        order = self._order
        if held and self._options.fence == "auto":
            # What held before holds again in a moment, or somebody saw to it that it does not.
            order = replace(order, kinds=tuple(kind for kind in Kind if kind is not Kind.NONE))
        try:
            made = ticking.run_tick(
                order,
                number=number,
                reason=reason,
                stop_asked=lambda: self._stop,
                env=os.environ,
            )
        except NotHeld as error:
            if not held:
                raise
            self._say(f"tick {number} is put off, for the fence of earlier ones does not hold now:")
            self._say(f"  {fence.visible(str(error))}")
            return False
        self._done += 1
        self._tell(made)
        return True

    def _spent(self, past: Sequence[Mapping[str, Any]]) -> bool:
        limit = self._options.max_cost
        return limit is not None and _cost(past) >= limit

    def _tell(self, made: Tick) -> None:
        if self._options.json:
            told = {"tick": made.number, "step": made.step, "reason": made.reason}
            told |= {"end": made.end, "proposals": made.proposals, "breaches": made.breaches}
            self._say(json.dumps(told | {"fence": made.fence, "cost_usd": made.cost_usd}))
            return
        done = f"proposals {made.proposals}" if made.proposals else "no proposal"
        self._say(
            f"tick {made.number} at step {made.step}: {made.agent} {made.end} after "
            f"{made.seconds:.0f} s; {done}; fence: {made.fence}"
        )
        for sentence in (*made.breaches, *made.not_protected):
            self._say(f"  {fence.visible(sentence)}")

    def _say(self, sentence: str) -> None:
        print(sentence, flush=True)

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop = True


def look(run: RunPaths) -> Seen:
    """Return what a run's status says; where it cannot be read, that nothing is known."""
    try:
        value = json.loads(files.read_plain(run.status, most=1 << 20))
    except (OSError, ValueError):
        return Seen()
    if not isinstance(value, dict):
        return Seen()
    step, pid, beat = value.get("step"), value.get("pid"), value.get("heartbeat")
    return Seen(
        phase=str(value.get("phase", "unknown")),
        step=step if isinstance(step, int) else 0,
        heartbeat=float(beat) if isinstance(beat, int | float) else None,
        pid=pid if isinstance(pid, int) and pid > 0 else None,
    )


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m skill supervise",
        description="Have a meta-agent look at a run every few steps, inside a fence.",
        epilog=f"examples:\n{EXAMPLE}\n\nexit status: 0 fine, 1 blocked, 2 misuse",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    asking.add_run(made)
    made.add_argument(
        "--agent",
        default="operator",
        help="claude, codex, operator, naive, or a command (default: %(default)s)",
    )
    made.add_argument(
        "--every", type=_positive, default=10, help="training steps (default: %(default)s)"
    )
    made.add_argument(
        "--autonomy", choices=list(Autonomy), default=Autonomy.ACT, help="default: %(default)s"
    )
    made.add_argument(
        "--time-limit-s", type=float, default=600.0, help="of a tick (default: %(default)s)"
    )
    made.add_argument("--max-cost", type=float, help="US dollars, over all ticks of the run")
    made.add_argument(
        "--experience", type=Path, default=lesson.place(os.environ), help="the pool of lessons"
    )
    made.add_argument("--ticks", type=_positive, help="leave after so many")
    made.add_argument("--once", action="store_true", help="one tick now, whatever the step")
    made.add_argument("--seed", type=int, default=0, help="for agents that draw")
    made.add_argument(
        "--fence", choices=("auto", *Kind), default="auto", help="by what the kernel holds it"
    )
    made.add_argument(
        "--pass-env", action="append", default=[], metavar="NAME", help="let a variable through"
    )
    made.add_argument("--poll-s", type=float, default=1.0, help="how often status.json is read")
    made.add_argument("--json", action="store_true", help="one JSON object a tick")
    return made


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return number


def _folders(run: RunPaths) -> list[Path]:
    return [path for path in run.supervisor.glob("[0-9][0-9][0-9][0-9]") if path.is_dir()]


def _number(name: str) -> int:
    return int(name)


def _cost(past: Sequence[Mapping[str, Any]]) -> float:
    costs = [one.get("cost_usd") for one in past]
    return sum(float(cost) for cost in costs if isinstance(cost, int | float))


def _alive(pid: int) -> bool:
    with suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
