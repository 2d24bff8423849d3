"""The table of a simulated fleet: every schedule under every condition, as text for a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from trainer.scheduling.fleet import Fleet
from trainer.scheduling.schedules import SCHEDULES, Outcome, Setting
from trainer.scheduling.workload import Workload

CONDITIONS: Mapping[str, Setting] = MappingProxyType(
    {
        "as usual": Setting(),
        "turns alike (spread .25)": Setting(load=Workload(turn_spread=0.25)),
        "turns uneven (spread 1)": Setting(load=Workload(turn_spread=1.0)),
        "1 answer in 1,000 hangs": Setting(load=Workload(straggler_share=0.001)),
        "1 answer in 100 hangs": Setting(load=Workload(straggler_share=0.01)),
        "8 dialogues a place": Setting(rounds=8.0),
        "4 places a node, 16 each": Setting(fleet=Fleet(slots=4), rounds=16.0),
    }
)
"""What differs from the usual workload, by name."""

Results = Mapping[str, Mapping[str, Outcome]]
"""Outcomes by condition and schedule."""


def simulate(*, nodes: int, steps: int, seed: int) -> Results:
    """Play every schedule under every condition; the same dialogues for all schedules.

    Args:
        nodes: Engines of the fleet.
        steps: Training steps.
        seed: Chance.
    """
    return {
        name: {
            schedule: play(
                replace(setting, fleet=replace(setting.fleet, nodes=nodes), steps=steps, seed=seed)
            )
            for schedule, play in SCHEDULES.items()
        }
        for name, setting in CONDITIONS.items()
    }


def markdown(results: Results, *, nodes: int, steps: int, seed: int) -> str:
    """Return the tables of a page.

    Args:
        results: What `simulate` returned for the same arguments.
        nodes: Engines of the fleet.
        steps: Training steps.
        seed: Chance.
    """
    usual = Setting()
    parts = [
        f"{nodes} nodes of {usual.fleet.slots} places, {usual.rounds:g} dialogues a place in a "
        f"batch, {steps} steps, update {usual.update_s:g} s, seed {seed}; log-normal turns "
        f"(mean {usual.load.mean_turns:g}, spread {usual.load.turn_spread:g}), tokens "
        f"({usual.load.mean_tokens:g}) and answers ({usual.load.mean_wait_s:g} s); an answer that "
        f"hangs takes {usual.load.straggler_s:g} s."
    ]
    shown: Mapping[str, Callable[[Outcome], str]] = {
        "Seconds of a step, update included": lambda one: f"{one.step_s:.0f}",
        "Places that hold a dialogue while engines may play": lambda one: f"{one.filled:.0%}",
        "Length of what is learnt from, against the workload": lambda one: (
            f"{one.length_bias:+.0%}"
        ),
        "Dialogues that began and brought nothing": lambda one: f"{one.lost:.1%}",
        "Updates between who spoke and who learns": lambda one: f"{one.staleness:.2f}",
    }
    names = list(SCHEDULES)
    for title, cell in shown.items():
        rows = [f"| {title} | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
        rows += [
            f"| {condition} | {' | '.join(cell(found[name]) for name in names)} |"
            for condition, found in results.items()
        ]
        parts.append("\n".join(rows))
    return "\n\n".join(parts)
