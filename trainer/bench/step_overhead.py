"""What a step of the demo costs beside model arithmetic: worlds, users, words, records, knobs.

The demo recipe is launched in a temporary folder, with its worlds in real processes and a shorter
warm start, and takes a few real steps. Model arithmetic is what the sampler's decoding and the
learner's scoring and learning take; everything else is overhead. By wall time the trainer's waits
for its worlds count, which neighbours stretch. The CPU time of the worlds' processes, which run
beside the trainer where there is a second core, is told apart. Checkpoints count with their share.
"""

from __future__ import annotations

import io
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from trainer import launch, loop, recipe_file, session
from trainer.bench.figures import Figure, at_most
from trainer.bench.timing import Account, Spent, Watched, descendants_cpu_s, spend
from trainer.loop import Run
from trainer.rollout.places import Place, Places

MODEL = "decode", "score and learn"
"""Stages that are model arithmetic."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    steps: int = 3
    """Steps that count; one before them does not."""
    dialogues: int = 32
    warm_start_steps: int = 100
    """On pieces of dialogues, and as many on whole ones."""
    demonstrations: int = 300


FULL = Sizes()
QUICK = Sizes(steps=1, warm_start_steps=20, demonstrations=64)


def measure(sizes: Sizes) -> list[Figure]:
    """Launch the demo, take the steps and split their time."""
    measured = Measured(sizes.steps)
    with tempfile.TemporaryDirectory(prefix="eau-bench-") as folder:
        config = recipe_file.load(
            "demo",
            [
                f"policy.warm_start.steps={sizes.warm_start_steps}",
                f"policy.warm_start.piece_steps={sizes.warm_start_steps}",
                f"policy.warm_start.episodes={sizes.demonstrations}",
                f"rollout.dialogues_per_step={sizes.dialogues}",
                f"total_steps={1 + sizes.steps}",
            ],
        )
        planned = launch.plan(config, run_id="bench", runs=Path(folder))
        quiet = Console(file=io.StringIO())
        session.start(planned, quiet, adjust=measured.attach)
    return measured.figures()


@dataclass
class Measured:
    """The time of some steps of a live run, taken as the run's watcher."""

    steps: int
    account: Account = field(default_factory=Account)
    seen: int = 0
    began: Spent = Spent(0.0, 0.0)
    whole: Spent = Spent(0.0, 0.0)
    worlds_cpu_s: float = 0.0
    """Of the worlds' processes; negative until the last step is done."""

    def attach(self, run: Run) -> None:
        """Put clocks on a run that is ready to train."""
        _watch(run, self.account)
        run.watcher = lambda record, status: self._step_done(run)

    def _step_done(self, run: Run) -> None:
        """Begin with the end of the first step; stop so many steps later."""
        now = Spent(time.perf_counter(), time.process_time())
        if self.seen == 0:
            self.account.spent.clear()
            self.worlds_cpu_s = -descendants_cpu_s()
            self.began = Spent(time.perf_counter(), time.process_time())
        elif self.seen == self.steps:
            self.whole = Spent(now.wall_s - self.began.wall_s, now.cpu_s - self.began.cpu_s)
            self.worlds_cpu_s += descendants_cpu_s()
            spent = dict(self.account.spent)
            saved = spend(lambda: loop.save(run))
            share = self.steps / run.config.checkpoint.every
            spent["checkpoints"] = Spent(saved.wall_s * share, saved.cpu_s * share)
            self.account = Account(spent)
        self.seen += 1

    def figures(self) -> list[Figure]:
        """Return the share of everything but the model, and where it went."""
        spent = self.account.spent
        wall = self.whole.wall_s + spent["checkpoints"].wall_s
        cpu = self.whole.cpu_s + spent["checkpoints"].cpu_s
        model_wall = sum(spent[stage].wall_s for stage in MODEL)
        model_cpu = sum(spent[stage].cpu_s for stage in MODEL)
        listed = sum(one.wall_s for one in spent.values())
        parts = {stage: one.wall_s for stage, one in spent.items() if stage not in MODEL}
        parts["rest"] = wall - listed
        return [
            Figure("a step of the demo", wall / self.steps, "s", cpu_per_wall=cpu / wall),
            Figure("all but the model", _percent(wall - model_wall, wall), "%", at_most(10.0)),
            Figure("all but the model, trainer's CPU", _percent(cpu - model_cpu, cpu), "%"),
            Figure("worlds' own CPU, beside the trainer's", _percent(self.worlds_cpu_s, cpu), "%"),
            *(
                Figure(f"- {stage}", _percent(seconds, wall), "%")
                for stage, seconds in sorted(parts.items(), key=lambda part: -part[1])
            ),
        ]


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole


def _watch(run: Run, account: Account) -> None:
    """Put a clock on everything that a step touches."""

    def watched(inner: Any, rest: str, **stages: str) -> Any:
        return Watched(inner, account, stages, rest)

    def watched_place(place: Place) -> Place:
        users = {voice: watched(user, "users") for voice, user in place.users.items()}
        return place._replace(worlds=watched(place.worlds, "worlds"), users=users)

    scene = run.scene
    run.scene = replace(
        scene,
        sampler=watched(scene.sampler, "new weights", sample="decode"),
        chat=watched(scene.chat, "words to ids and back"),
        places=Places(lambda revision: watched_place(scene.places.at(revision))),
    )
    run.learner = watched(run.learner, "digest of the weights", step="score and learn")
    run.live = watched(run.live, "knobs")
    run.log = watched(run.log, "records")
