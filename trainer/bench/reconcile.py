"""What the live knobs cost at a step boundary: nothing changed, and one value changed.

A run is launched in a temporary folder with the default knobs. Unchanged, a reconcile reads four
files; changed, it takes the lock, parses, checks and appends to the ledger, with fsync.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from gate.contract import knobs, revisions
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author
from gate.contract.paths import RunPaths
from trainer.bench.figures import Figure, at_most
from trainer.bench.timing import Spent, cpu_per_wall, spend
from trainer.live import LiveKnobs

WORLDS = ("travel", "intention")
_SUCCESS = (0.9,) * 20


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    calls: int = 3000
    """Reconciles that find nothing changed."""
    edits: int = 40
    """Reconciles that find one value changed."""


FULL = Sizes()
QUICK = Sizes(calls=1000, edits=10)


def measure(sizes: Sizes) -> list[Figure]:
    """Time reconciles over a run of its own."""
    with tempfile.TemporaryDirectory(prefix="eau-bench-") as folder:
        run = _launch(Path(folder) / "run")
        live = LiveKnobs(run, worlds=WORLDS)
        _look(live, 1)
        unchanged = [spend(lambda: _look(live, 2)) for _ in range(sizes.calls)]
        changed = _changed(run, live, sizes.edits)
    # One call is much shorter than a turn on the processor: the median has none that was cut.
    same, other = (median(one.wall_s for one in spent) for spent in (unchanged, changed))
    return [
        Figure(
            "reconcile, nothing changed",
            same * 1e6,
            "µs",
            at_most(100.0),
            cpu_per_wall(unchanged),
        ),
        Figure(
            "reconcile, one value changed",
            other * 1e3,
            "ms",
            cpu_per_wall=cpu_per_wall(changed),
        ),
        Figure("changed against unchanged", other / same, "x"),
    ]


def _launch(root: Path) -> RunPaths:
    run = RunPaths(root)
    for world in WORLDS:
        (run.world / "0000" / world).mkdir(parents=True)
    contents = {f"knobs/{name}.yaml": knobs.render_defaults(name) for name in knobs.FILES}
    revisions.launch(
        run, contents, knobs.defaults(), author=Author.PERSON, reason="a measurement", now=0.0
    )
    return run


def _look(live: LiveKnobs, step: int) -> None:
    live.reconcile(step, success_history=_SUCCESS, now=float(step))


def _changed(run: RunPaths, live: LiveKnobs, edits: int) -> list[Spent]:
    """Time the reconcile after each of several edits of one file.

    Raises:
        RuntimeError: if an edit was not taken up, since something else was measured then.
    """
    path, took = run.knob_file("agent"), []
    for number in range(edits):
        change = KnobChange(
            "agent.gae_lambda", live.current.get("agent.gae_lambda"), _value(number)
        )
        path.write_bytes(knobs.edit("agent", path.read_bytes(), [change]))
        revision = live.revision
        took.append(spend(lambda step=number + 3: _look(live, step)))
        if live.revision != revision + 1:
            raise RuntimeError(f"the edit {change} was not taken up; measure on a run of its own")
    return took


def _value(number: int) -> float:
    return 0.94 if number % 2 else 0.93
