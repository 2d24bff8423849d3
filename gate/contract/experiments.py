"""Experiments: the tests of a run's changes, as they were declared, and what they found.

A test is a line of the ledger, written before its first step, so that nothing about it can be
chosen after the result; what was found is a later line. `experiments/NNNN.yaml` tells the same to
people and programs, and is made anew from the ledger. How a test is judged belongs to
`gate.guard` and `gate.effects`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from gate.contract import files
from gate.contract.ledger import Entry, EntryKind
from gate.contract.paths import RunPaths

HOLDS = frozenset({"lagging", "pending"})
"""Verdicts after which a test goes on."""

_LISTS = frozenset({"layout", "knobs"})


@dataclass(frozen=True)
class Experiment:
    """One test as it was declared before its first step."""

    number: int
    proposal: int | None
    """The proposal that it tests; None where somebody saved a file or used a command."""
    revision: int
    """The revision with the new values."""
    old_revision: int
    """The revision with the values that they are compared with."""
    opened: int
    """The first training step of the test."""
    judged: bool
    """False where nothing can be said about the change: `because` says why."""
    because: str = ""
    design: str = ""
    """`concurrent_arms`, `reversal` or `before_after`; empty where it is not judged."""
    window: int = 0
    """Steps to be measured, in all phases together."""
    lag: int = 0
    """Steps after the opening in which no effect can be expected; they are not measured."""
    baseline: int = 0
    """Steps before the opening that are compared with."""
    margin: float = 0.05
    """Difference of success that is material."""
    layout: tuple[int, int] | None = None
    """Of a reversal: the steps after the opening at which it goes to the new values, and back."""
    shortest_phase: int = 6
    """Of a reversal: steps of each phase, at least."""
    new_share: float = 0.5
    """Of concurrent arms: the share of the groups under the new values."""
    noise_sd: float | None = None
    """Standard deviation of one step, or of its difference between arms, that was reckoned with."""
    effect: float = 0.0
    """Difference of success that the test is to find."""
    detectable: float | None = None
    """Difference of success that it finds four times in five."""
    noise_floor: float | None = None
    """What the same comparison shows 95 times in 100 at most where nothing was changed."""
    ease: str = "unchanged"
    """What the change does to the difficulty of its own episodes (`gate.effects.anchors.Ease`)."""
    knobs: tuple[str, ...] = ()
    """The knobs that it moves, as written."""
    proximal: str | None = None
    """The step measure that moves first, as `learner.entropy`."""
    direction: int = 0
    """Where that measure was predicted to go: 1, -1, or 0 where nobody said."""
    if_inconclusive: str = "keep"
    """`keep` or `revert`."""

    @property
    def ready_after(self) -> int:
        """Steps after the opening at which it is judged for the first time."""
        return self.lag + self.window

    @property
    def horizon(self) -> int:
        """Steps after the opening at which it is judged for the last time."""
        return 2 * self.ready_after

    def __str__(self) -> str:
        """Return on one line how it is judged, or why it is not."""
        if not self.judged:
            return f"test {self.number} cannot judge it: {self.because}"
        last = self.opened + self.ready_after - 1
        found = "" if self.detectable is None else f", finds {self.detectable:.3f} 4 times in 5"
        design = self.design.replace("_", " ")
        return f"test {self.number}: {design}, steps {self.opened} to {last}{found}"

    def to_json(self) -> dict[str, Any]:
        """Return it as the ledger keeps it."""
        values: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        values["experiment"] = values.pop("number")
        values["knobs"] = list(self.knobs)
        values["layout"] = None if self.layout is None else list(self.layout)
        return values

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Experiment:
        """Return what `to_json` kept; unknown names are passed over."""
        known = {one.name for one in fields(cls)}
        values = {name: value for name, value in body.items() if name in known}
        for name in _LISTS & values.keys():
            values[name] = None if values[name] is None else tuple(values[name])
        return cls(number=body["experiment"], **values)


@dataclass(frozen=True)
class Outcome:
    """What was found about a change, as one line of the ledger tells it."""

    seq: int
    """The number of that line; a lesson cites it."""
    step: int
    """The training step at whose start it was told."""
    experiment: int | None
    """The test that found it; None for a change that had none."""
    proposal: int | None
    revision: int
    verdict: str
    """One of `gate.effects.verdicts.Verdict`."""
    because: str
    """One sentence with the numbers that decided."""
    provisional: bool = False
    """True for a help that a run which improves by itself could also show."""
    effect: Mapping[str, float] | None = None
    """`difference`, `low`, `high` and `detectable`, in success rate; None without a measurement."""
    design: str = ""
    window: tuple[int, int] | None = None
    """The first and the last training step that were measured."""
    rolled_back_by: int | None = None
    """The revision that took the change back; None if it stays."""

    @property
    def ends_the_test(self) -> bool:
        """Whether the test is over; `lagging` extends it."""
        return self.verdict not in HOLDS


def declared(entries: Iterable[Entry]) -> dict[int, Experiment]:
    """Return every test of a ledger by its number."""
    found = (Experiment.from_json(one.body) for one in entries if one.kind is EntryKind.OPENED)
    return {experiment.number: experiment for experiment in found}


def outcomes(entries: Iterable[Entry]) -> tuple[Outcome, ...]:
    """Return everything that a ledger tells about effects, oldest first."""
    return tuple(_outcome(entry) for entry in entries if entry.kind is EntryKind.OUTCOME)


def open_tests(
    experiments: Mapping[int, Experiment], told: Iterable[Outcome]
) -> tuple[Experiment, ...]:
    """Return the tests that are not over, oldest first."""
    over = {outcome.experiment for outcome in told if outcome.ends_the_test}
    return tuple(one for one in experiments.values() if one.judged and one.number not in over)


def lagging(told: Iterable[Outcome]) -> frozenset[int]:
    """Return the numbers of the tests that were extended to their horizon."""
    return frozenset(one.experiment for one in told if one.experiment and not one.ends_the_test)


def document(experiment: Experiment, told: Iterable[Outcome]) -> bytes:
    """Return a test as `experiments/NNNN.yaml` tells it.

    Args:
        experiment: The test.
        told: What was found so far, by this test or others.
    """
    mine = [one for one in told if one.experiment == experiment.number]
    over = any(one.ends_the_test for one in mine)
    state = "closed" if over else "open" if experiment.judged else "not judged"
    last = experiment.opened + experiment.ready_after - 1
    values: dict[str, Any] = {"state": state, **experiment.to_json()}
    if experiment.judged:
        values["judged_after_steps"] = [last, experiment.opened + experiment.horizon - 1]
        values["closed_by"] = "the guard, which alone writes verdicts"
    values["outcomes"] = [
        {one.name: getattr(outcome, one.name) for one in fields(outcome)} for outcome in mine
    ]
    lines = [f"{name}: {json.dumps(v, ensure_ascii=False)}" for name, v in values.items()]
    head = "# Made from ledger.jsonl, which alone counts; writing here changes nothing."
    return "\n".join([head, *lines, ""]).encode()


def write_documents(
    run: RunPaths, experiments: Iterable[Experiment], told: Iterable[Outcome]
) -> None:
    """Write the files of some tests where they are not what the ledger says.

    Raises:
        files.DiskFull: if there is no room.
    """
    found = tuple(told)
    if run.experiments.is_symlink() or not run.experiments.is_dir():
        return  # no folder of the run's own: the ledger alone tells
    for experiment in experiments:
        content, path = document(experiment, found), run.experiment(experiment.number)
        if not path.is_file() or path.read_bytes() != content:
            files.write_whole(path, content)


def _outcome(entry: Entry) -> Outcome:
    body = entry.body
    window = body.get("window")
    return Outcome(
        seq=entry.seq,
        step=entry.step,
        experiment=body.get("experiment"),
        proposal=body.get("proposal"),
        revision=body["revision"],
        verdict=str(body["verdict"]),
        because=str(body.get("because", "")),
        provisional=bool(body.get("provisional", False)),
        effect=body.get("effect"),
        design=str(body.get("design", "")),
        window=(window[0], window[1]) if window else None,
        rolled_back_by=body.get("rolled_back_by"),
    )
