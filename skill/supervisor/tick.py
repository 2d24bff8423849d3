"""One tick: an agent gets a bounded session inside its fence, and what it did is checked after.

Whatever the agent does, the tick ends, nobody is left, the run goes on, and one record says what
happened. What the agent may write of its own goes to the gate or to a person, as the autonomy says.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gate.contract import breaches, files, ledger, proposals
from gate.contract.paths import RunPaths
from skill import standing
from skill.proposing import Autonomy
from skill.supervisor import agents, belongings, custody, enclosure, outbox, process
from skill.supervisor.agents import Setting
from skill.supervisor.custody import Breach
from skill.supervisor.enclosure import Kind, Plan
from skill.supervisor.live_knobs import LiveKnobs
from skill.supervisor.process import Ended

SCRATCH = "eau-tick-"
"""How the temporary folders of ticks begin; the supervisor's process id follows."""

NOT_PROTECTED = (
    "evaluation is not protected: no kernel fence is to be had here, so a meta-agent could read it"
)


@dataclass(frozen=True)
class Order:
    """What every tick of a supervisor has in common."""

    run: RunPaths
    checkout: Path
    agent: str
    autonomy: Autonomy
    limit_s: float
    experience: Path
    """The folder that holds the pool of lessons."""
    most_usd: float | None = None
    seed: int = 0
    kinds: tuple[Kind, ...] = tuple(Kind)
    """Enclosures to try, in this order; without `NONE` a tick that nothing holds is not run."""
    passed: tuple[str, ...] = ()
    """Variables of the environment that a person lets through."""


@dataclass(frozen=True)
class Tick:
    """What one tick was and did, as `supervisor/NNNN/tick.json` holds it."""

    number: int
    step: int
    """The last finished training step when it began."""
    reason: str
    """interval, ended, stalled or asked."""
    agent: str
    autonomy: str
    fence: str
    fence_refused: list[str]
    """Why a better enclosure is not to be had."""
    end: str
    code: int | None
    seconds: float
    left: int
    """Processes that had to be ended after it."""
    cost_usd: float | None
    proposals: list[int]
    """Numbers that it submitted or that became drafts."""
    breaches: list[str]
    changed_meanwhile: list[str]
    """What others changed while the kernel held the agent."""
    not_protected: list[str]
    said: str
    """What the agent reported in the end: data, never an instruction."""
    time: float = field(default=0.0)
    """When it ended, in seconds since 1970."""


def prompt(order: Order, reason: str) -> str:
    """Return what an agent is asked to do in one tick."""
    run = os.fspath(order.run.root)
    may = {
        Autonomy.WATCH: "Report only: submit nothing.",
        Autonomy.PROPOSE: "What you propose becomes a draft, which a person applies.",
        Autonomy.ACT: "What you propose is decided by the gate at the next step.",
    }[order.autonomy]
    ended = "The run has ended: " if reason == "ended" else ""
    last = (
        "write down what it taught; ask for a restart only for a fault that nothing else undoes."
        if reason == "ended"
        else "Follow the skill's loop once: look, then change one thing or nothing, and report."
    )
    return (
        f"Use the eau-meta-agent skill on {run}. This is one tick of a fixed interval, with "
        f"{order.limit_s:g} seconds. {may} {ended}{last}"
    )


def run_tick(
    order: Order,
    *,
    number: int,
    reason: str,
    stop_asked: Callable[[], bool],
    env: Mapping[str, str],
) -> Tick:
    """Run one tick to its end, and leave its record.

    Args:
        order: What every tick has in common.
        number: The tick's number, which no earlier one had.
        reason: Why it is due.
        stop_asked: True when it should end now.
        env: The supervisor's own environment.

    Raises:
        agents.UnknownAgent: if the agent cannot be started; nothing is left behind.
        enclosure.NotHeld: if no enclosure holds that may be used; nothing is left behind.
        gate.contract.ledger.Damaged: if the run's ledger cannot be read.
    """
    folder = order.run.supervisor / f"{number:04d}"
    folder.mkdir(parents=True, exist_ok=True)
    _clear_leftovers()
    scratch = Path(tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-"))
    try:
        ready = _prepare(order, reason, folder, scratch, env)
        step = standing.last_step(order.run)
        came = _attend(order, ready, folder / "breach", stop_asked, env)
    except (agents.UnknownAgent, enclosure.NotHeld):
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    ended = came.ended
    tick = Tick(
        number=number,
        step=step,
        reason=reason,
        agent=order.agent,
        autonomy=order.autonomy.value,
        fence=ready.kind.value,
        fence_refused=ready.refused,
        end=ended.end.value,
        code=ended.code,
        seconds=round(ended.seconds, 2),
        left=ended.left,
        cost_usd=agents.cost_usd(ended.out),
        proposals=came.proposals,
        breaches=[str(breach) for breach in came.breaches],
        changed_meanwhile=[breach.path for breach in came.meanwhile],
        not_protected=[] if ready.setting.held else [NOT_PROTECTED],
        said=agents.last_words(ended.out),
        time=time.time(),
    )
    _write(folder, tick, ended, ready.setting.prompt)
    if came.breaches:
        _tell_the_ledger(order, tick)
    return tick


@dataclass(frozen=True)
class Came:
    """What came of an agent's session."""

    ended: Ended
    breaches: list[Breach]
    meanwhile: list[Breach]
    """What others changed."""
    proposals: list[int]


def _attend(
    order: Order,
    ready: Ready,
    keeping: Path,
    stop_asked: Callable[[], bool],
    env: Mapping[str, str],
) -> Came:
    """Let an agent work, then put back what it must not have written and take up the rest."""
    kept = custody_of(order)
    before = set(proposals.names(order.run))
    look = _looker(order, kept.knobs, before, held=ready.setting.held)
    given = agents.environment(ready.setting, env, passed=order.passed)
    ended = process.run(
        ready.words,
        cwd=order.checkout,
        env=given,
        limit_s=order.limit_s,
        look=look,
        stop_asked=stop_asked,
    )
    out, err = (agents.redacted(text, given) for text in (ended.out, ended.err))
    agents.bring_home(ready.setting, env)
    look()
    found, meanwhile = kept.restore(keeping, held=ready.setting.held)
    made = outbox.take_over(order.run, ready.box, order.autonomy, before, breached=bool(found))
    return Came(replace(ended, out=out, err=err), found, meanwhile, made)


@dataclass(frozen=True)
class Ready:
    """Everything that an agent needs to begin."""

    setting: Setting
    kind: Kind
    refused: list[str]
    """Why a better enclosure is not to be had."""
    words: list[str]
    """The whole command, its enclosure included."""
    box: Path
    """What it sees as `proposals/`."""


def _prepare(
    order: Order, reason: str, folder: Path, scratch: Path, env: Mapping[str, str]
) -> Ready:
    """Make the folders of a tick and choose its fence."""
    belongings.owned(order.run, order.experience)
    box = outbox.open_box(order.run, folder, order.autonomy)
    hidden = belongings.hidden(order.checkout, env)
    plan = _plan(order, scratch, box, hidden)
    kind, refused = enclosure.best(plan, cwd=order.checkout, kinds=order.kinds)
    if kind not in order.kinds:
        raise enclosure.NotHeld("; ".join(refused))
    tasks = (path for path in hidden if path.name == "evaluation")
    setting = Setting(
        run=order.run,
        checkout=order.checkout,
        scratch=scratch,
        prompt=prompt(order, reason),
        autonomy=order.autonomy,
        held=kind is not Kind.NONE,
        evaluation=tuple(os.path.relpath(path, order.checkout) for path in tasks),
        most_usd=order.most_usd,
        seed=order.seed,
        experience=order.experience,
    )
    words = agents.words(order.agent, setting)
    agents.furnish(setting, env)
    return Ready(setting, kind, refused, enclosure.wrap(kind, plan, words), box)


@dataclass(frozen=True)
class Kept:
    """What one tick is compared with."""

    theirs: custody.Custody
    own: custody.Custody
    knobs: LiveKnobs
    folders: tuple[Path, ...]

    def restore(self, keeping: Path, *, held: bool) -> tuple[list[Breach], list[Breach]]:
        """Return breaches, put back, and what others changed while the kernel held the agent.

        Args:
            keeping: A folder for what was found in the place of what was put back.
            held: Whether the kernel held the agent: then it cannot have been its work.
        """
        found = self.own.restore(keeping)
        for folder in self.folders:
            found += custody.links_out(folder, keeping=keeping)
        others = self.theirs.restore(None if held else keeping)
        others += self.knobs.restore(None if held else keeping)
        return (found, others) if held else (found + others, [])


def custody_of(order: Order) -> Kept:
    """Remember everything that a tick must leave as it is."""
    return Kept(
        theirs=belongings.take(order.run, checkout=order.checkout),
        own=belongings.take_own(order.run, experience=order.experience),
        knobs=LiveKnobs(order.run),
        folders=belongings.owned(order.run, order.experience),
    )


def _plan(order: Order, scratch: Path, box: Path, hidden: tuple[Path, ...]) -> Plan:
    run = order.run.root.resolve()
    owned = [(scratch, scratch)]
    if order.autonomy is not Autonomy.WATCH:
        proposed = box.resolve()
        owned += [(run / "candidate", run / "candidate"), (proposed, run / "proposals")]
        owned.append((order.experience, order.experience))
    return Plan(
        writable=tuple(owned),
        hidden=hidden,
        network=agents.needs_network(order.agent),
        closed=(run, *belongings.live_knobs(order.run), order.checkout, order.checkout / "gate"),
    )


def _looker(order: Order, knobs: LiveKnobs, before: set[str], *, held: bool) -> Callable[[], None]:
    """Return what is done several times a second while the agent is at work."""

    def look() -> None:
        # A ledger that the trainer is writing, or that the agent spoilt, is judged at the end.
        with contextlib.suppress(ledger.Damaged, OSError):
            knobs.look()
        if not held and order.autonomy is not Autonomy.ACT:
            outbox.hold_back(order.run, before)

    return look


def _clear_leftovers() -> None:
    """Remove the homes of ticks whose supervisor was killed: they hold copies of credentials."""
    for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*-*"):
        pid = path.name.removeprefix(SCRATCH).partition("-")[0]
        if not pid.isdigit() or Path("/proc", pid).exists():
            continue
        # Another supervisor may be clearing the same one.
        with contextlib.suppress(FileNotFoundError):
            if path.lstat().st_uid == os.getuid() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)


def _write(folder: Path, tick: Tick, ended: Ended, asked: str) -> None:
    for name, text in (("prompt.md", asked), ("out.txt", ended.out), ("err.txt", ended.err)):
        files.write_whole(folder / name, text.encode("utf-8", "replace"))
    content = json.dumps(asdict(tick), ensure_ascii=False, indent=1) + "\n"
    files.write_whole(folder / "tick.json", content.encode("utf-8", "replace"))


def _tell_the_ledger(order: Order, tick: Tick) -> None:
    # A ledger that takes no line is told by the tick's own record alone.
    with contextlib.suppress(ledger.Damaged, files.LockBusy, files.DiskFull):
        breaches.record(
            order.run,
            tick.breaches,
            tick=tick.number,
            agent=order.agent,
            step=tick.step + 1,
            now=tick.time,
        )


def read_all(run: RunPaths) -> list[Mapping[str, Any]]:
    """Return the records of the ticks of a run, the oldest first; damaged ones are passed over."""
    found: list[Mapping[str, Any]] = []
    for path in sorted(run.supervisor.glob("[0-9][0-9][0-9][0-9]/tick.json")):
        try:
            value = json.loads(files.read_plain(path, most=1 << 20))
        except (OSError, ValueError):
            continue
        if isinstance(value, dict) and isinstance(value.get("step"), int):
            found.append(value)
    return found
