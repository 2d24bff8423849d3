"""Progress on a terminal: one line a step, a bar with the time left, and every refusal.

What is shown comes from the records alone. This module knows nothing about training.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gate.contract.records import StepRecord
from gate.guard import KnobStatus

_BARS = "▁▂▃▄▅▆▇█"


class StepPrinter:
    """Prints steps as they are recorded; usable as a run's watcher."""

    def __init__(self, console: Console, total_steps: int) -> None:
        """Begin with an empty bar.

        Args:
            console: Where to print.
            total_steps: Steps of the whole run.
        """
        self._console = console
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
            self._console.print(
                f"[bold magenta]knob[/] {change.path}: {change.old} -> {change.new} "
                f"(revision {status.revision})"
            )
        for finding in status.refused:
            self._console.print(f"[bold red]refused[/] {finding}", highlight=False)
        self._console.print(line(record), highlight=False)
        self._progress.update(self._bar, completed=record.step)


def line(record: StepRecord) -> str:
    """Return one step as one line."""
    arms = " ".join(f"{arm} {value:.2f}" for arm, value in record.success_by_arm.items())
    learner = record.learner
    rate = record.action_tokens / record.sample_s if record.sample_s else 0.0
    told = [
        f"step {record.step:4d}",
        f"success {_number(record.success)}",
        f"reward {_number(record.reward)}",
        f"[{arms}]".replace("[", "\\["),
        f"entropy {learner.get('entropy', float('nan')):.3f}",
        f"kl {learner.get('kl', float('nan')):.4f}",
        f"ev {learner.get('explained_variance', float('nan')):.2f}",
        f"{rate:.0f} tok/s",
        f"{record.step_s:.1f} s",
    ]
    if record.quarantined or record.dropped:
        told.append(f"quarantined {record.quarantined} dropped {record.dropped}")
    return "  ".join(told)


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
