"""Ways to schedule the rollouts of a run, and what each does to time, places and data.

Every schedule plays the same dialogues in the same order. A step is over when its batch is whole
and the update is done, except where a schedule lets the two overlap.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from trainer.scheduling import fleet as engines
from trainer.scheduling.fleet import Fleet, Played, Source
from trainer.scheduling.workload import Script, Workload, scripts

USUAL_DIALOGUES, USUAL_SEED = 20_000, 1
"""Of the sample that tells how long dialogues of a workload are."""


@dataclass(frozen=True)
class Setting:
    """What every schedule is given."""

    fleet: Fleet = Fleet()
    load: Workload = Workload()
    rounds: float = 2.0
    """Dialogues of a batch for each place of the fleet."""
    steps: int = 6
    update_s: float = 30.0
    spare: float = 0.1
    """Share of dialogues that `spare` starts beyond the batch."""
    turn_deadline_s: float = 30.0
    """Of the schedule `deadline`."""
    seed: int = 0

    @property
    def batch(self) -> int:
        """Dialogues of a step."""
        return round(self.fleet.places * self.rounds)


class Outcome(NamedTuple):
    """What a schedule came to, over all steps."""

    step_s: float
    """Seconds of a step, update included."""
    filled: float
    """Share of the fleet's places that held a dialogue, in [0, 1], while engines could play."""
    lost: float
    """Share of the started dialogues that brought nothing: cut, or let go."""
    length_bias: float
    """Mean turns of what was learnt from over those of the workload, less 1."""
    staleness: float
    """Mean number of updates between the policy that spoke and the one that learns."""


def dealt(setting: Setting) -> Outcome:
    """Deal the batch to the engines beforehand, as ranks that roll out their own share do."""
    return _in_steps(setting, setting.batch, _dealt_source)


def pulled(setting: Setting) -> Outcome:
    """Let every free place pull the next dialogue from one queue."""
    return _in_steps(setting, setting.batch, _shared_source)


def spare(setting: Setting) -> Outcome:
    """Pull more dialogues than the batch needs, and let the last ones go."""
    return _in_steps(setting, round(setting.batch * (1 + setting.spare)), _shared_source)


def deadline(setting: Setting) -> Outcome:
    """Pull, and cut a dialogue whose answer is late; it costs its episode alone."""
    strict = replace(setting.fleet, turn_deadline_s=setting.turn_deadline_s)
    return _in_steps(replace(setting, fleet=strict), setting.batch, _shared_source)


def overlapped(setting: Setting) -> Outcome:
    """Pull, and roll the next batch out while this one is learnt from: one update behind."""
    return _in_steps(setting, setting.batch, _shared_source, overlap=True)


def flowing(setting: Setting) -> Outcome:
    """Never let a place stand empty: dialogues of the next batch begin beside the last of this."""
    stream = scripts(setting.load, np.random.default_rng(setting.seed))
    wanted = setting.batch * setting.steps
    session = engines.play(setting.fleet, lambda node, now: next(stream), enough=wanted)
    whole = [one for one in session.ended if one.whole]
    updated: list[float] = []
    stale: list[int] = []
    for step in range(setting.steps):
        batch = whole[step * setting.batch : (step + 1) * setting.batch]
        ready = max(batch[-1].ended_s, updated[-1] if updated else 0.0)
        stale += [step - bisect.bisect_right(updated, one.started_s) for one in batch]
        updated.append(ready + setting.update_s)
    return Outcome(
        step_s=updated[-1] / setting.steps,
        filled=session.seated_s / (setting.fleet.places * session.end_s),
        lost=1 - len(whole) / len(session.ended),
        length_bias=_bias(whole, setting.load),
        staleness=float(np.mean(stale)),
    )


SCHEDULES: Mapping[str, Callable[[Setting], Outcome]] = MappingProxyType(
    {
        "dealt": dealt,
        "pulled": pulled,
        "spare": spare,
        "deadline": deadline,
        "overlapped": overlapped,
        "flowing": flowing,
    }
)
"""Every schedule by its name."""


def _in_steps(
    setting: Setting,
    started: int,
    source_of: Callable[[list[Script], Fleet], Source],
    *,
    overlap: bool = False,
) -> Outcome:
    """Play all steps, each with a barrier at its end."""
    stream = scripts(setting.load, np.random.default_rng(setting.seed))
    ended: list[Played] = []
    num_begun = 0
    total_s, open_s, seated_s = 0.0, 0.0, 0.0
    for _ in range(setting.steps):
        dialogues = list(itertools.islice(stream, started))
        source = source_of(dialogues, setting.fleet)
        session = engines.play(setting.fleet, source, enough=setting.batch)
        apart_s = max(session.end_s, setting.update_s)
        total_s += apart_s if overlap else session.end_s + setting.update_s
        # Engines that share their GPUs with the update cannot play during it.
        open_s += apart_s if overlap else session.end_s
        seated_s += session.seated_s
        ended += [one for one in session.ended if one.whole]
        num_begun += started
    return Outcome(
        step_s=total_s / setting.steps,
        filled=seated_s / (setting.fleet.places * open_s),
        lost=1 - len(ended) / num_begun,
        length_bias=_bias(ended, setting.load),
        staleness=float(overlap),
    )


def _bias(kept: Sequence[Played], load: Workload) -> float:
    """Return how much longer kept dialogues are than those of the workload; 0 without a bias."""
    return float(np.mean([one.turns for one in kept])) / _usual_turns(load) - 1


@cache
def _usual_turns(load: Workload) -> float:
    usual = itertools.islice(scripts(load, np.random.default_rng(USUAL_SEED)), USUAL_DIALOGUES)
    return float(np.mean([len(one.tokens) for one in usual]))


def _dealt_source(dialogues: list[Script], fleet: Fleet) -> Source:
    shares = [iter(dialogues[node :: fleet.nodes]) for node in range(fleet.nodes)]
    return lambda node, now: next(shares[node], None)


def _shared_source(dialogues: list[Script], fleet: Fleet) -> Source:
    queue: Iterator[Script] = iter(dialogues)
    return lambda node, now: next(queue, None)
