"""Progress on a terminal: one line a step, a bar with the time left, and every refusal.

What is shown of a step comes from the records alone. This module knows nothing about training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from gate.contract.findings import Finding, Severity
from gate.contract.records import StepRecord
from gate.guard import KnobStatus
from trainer.show import visible

_BARS = "▁▂▃▄▅▆▇█"
_LEARNER = (("entropy", "entropy", 3), ("kl", "kl", 4), ("ev", "explained_variance", 2))
"""What a line tells of the update: label, metric, digits."""


class StepPrinter:
    """Prints steps as they are recorded; usable as a run's watcher."""

    def __init__(
        self,
        console: Console,
        total_steps: int,
        news: Callable[[], Sequence[str]] = tuple,
        live: str = "knobs",
    ) -> None:
        """Begin with an empty bar.

        Args:
            console: Where to print.
            total_steps: Steps of the whole run.
            news: Asked after each step for what else a person should know, a sentence each.
            live: Folder of the run's live knob files, as a person at this terminal names it.
        """
        self._console = console
        self._news = news
        self._live = live
        self._doubts: tuple[Finding, ...] = ()
        self._progress = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._bar = self._progress.add_task("training", total=total_steps)

    def __enter__(self) -> StepPrinter:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._progress.stop()

    def __call__(self, record: StepRecord, status: KnobStatus) -> None:
        """Print one step and what the knob files said in it."""
        for change in status.changed:
            told = f"{change.path}: {change.old} -> {change.new} (revision {status.revision})"
            self._print("knob", "bold magenta", told)
        for outcome in status.proposals:
            refused = outcome.revision is None
            self._print("proposal", "bold red" if refused else "bold magenta", str(outcome))
        for test in status.opened:
            self._print("opened", "bold magenta" if test.judged else "bold yellow", str(test))
        for verdict in status.verdicts:
            back = verdict.rolled_back_by
            taken = "" if back is None else f"; taken back by revision {back}"
            told = f"{verdict.verdict} of revision {verdict.revision}: {verdict.because}{taken}"
            self._print("effect", "bold magenta" if back is None else "bold red", told)
        for finding in (*status.refused, *status.waiting):
            refused = finding.severity is Severity.ERROR
            told = self._placed(finding)
            self._print("refused" if refused else "doubtful", "bold red", told)
        # A refusal is told until it is mended; a doubt about what is in force, once.
        for finding in status.warnings:
            if finding not in self._doubts:
                self._print("doubtful", "bold yellow", self._placed(finding))
        self._doubts = status.warnings
        self._print("", "", line(record))
        for told in self._news():
            self._print("note", "bold yellow", told)
        self._progress.update(self._bar, completed=record.step)

    def _placed(self, finding: Finding) -> str:
        # `knobs/user.yaml` alone is a file of the starting set to whoever sits in a checkout.
        folder, _, name = (finding.file or "").partition("/")
        if folder == "knobs" and name:
            finding = replace(finding, file=f"{self._live}/{name}")
        return str(finding)

    def _print(self, label: str, style: str, told: str) -> None:
        # A value from a file or a model is text, whatever markup or escapes it holds.
        text = Text(visible(told))
        if label:
            text = Text.assemble((label, style), " ", text)
        self._console.print(text, soft_wrap=True)


def line(record: StepRecord) -> str:
    """Return one step as one line."""
    arms = " ".join(f"{arm} {value:.2f}" for arm, value in record.success_by_arm.items())
    learner = record.learner
    rate = record.action_tokens / record.sample_s if record.sample_s else 0.0
    told = [
        f"step {record.step:4d}",
        f"success {_number(record.success)}",
        f"reward {_number(record.reward)}",
        f"[{arms}]",
        *(
            f"{short} {learner[name]:.{digits}f}"
            for short, name, digits in _LEARNER
            if name in learner
        ),
        f"{rate:.0f} tok/s",
        f"{record.step_s:.1f} s",
    ]
    if record.anchor_success is not None:
        told.append(f"anchors {record.anchor_success:.2f}")
    if record.endpoint:
        told.append(f"endpoint {_spent(record.endpoint)}")
    if record.judge:
        told.append(f"judge {_spent(record.judge)}")
    if record.test is not None:
        told.append(_test(record))
    if record.quarantined or record.dropped:
        told.append(f"quarantined {record.quarantined} dropped {record.dropped}")
    return "  ".join(told)


def _spent(spent: Mapping[str, float]) -> str:
    """Return what the step asked of an endpoint."""
    tokens = spent.get("prompt_tokens", 0) + spent.get("completion_tokens", 0)
    cost = f" ${spent['usd']:.4f}" if "usd" in spent else ""
    return f"{tokens:.0f} tok{cost}"


def _test(record: StepRecord) -> str:
    """Return what an open test showed in a step: its sides, every arm counting equally."""
    shown = [
        f"{side} {sum(part['success'] for part in arms.values()) / len(arms):.2f}"
        for side, arms in sorted(record.sides.items(), reverse=True)
    ]
    return " ".join([f"test {record.test}:", *(shown or ["no episode"])])


def success_curve(records: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    """Return training success of the steps on record that finished any episode.

    Others say nothing of the policy, and are no zeros.
    """
    return tuple(one["success"] for one in records if one["success"] is not None)


def sparkline(values: Sequence[float], *, width: int = 60) -> str:
    """Return values in [0, 1] as a line of bars, averaged to at most `width` of them."""
    if not values:
        return ""
    width = min(width, len(values))
    bins = [
        values[index * len(values) // width : (index + 1) * len(values) // width]
        for index in range(width)
    ]
    means = [sum(part) / len(part) for part in bins]
    top = len(_BARS) - 1
    return "".join(_BARS[round(max(0.0, min(1.0, mean)) * top)] for mean in means)


def _number(value: float | None) -> str:
    return "  -  " if value is None else f"{value:.3f}"
