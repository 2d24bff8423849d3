"""How fast the symbolic user answers, on what players really say to it.

Scripted players play training tasks; every request to the user is noted, and the same requests
are answered again under the clock, in batches as large as a step's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gate.contract import knobs
from trainer import demonstrations
from trainer.bench.figures import Figure, at_least
from trainer.bench.timing import cpu_per_wall, median_cpu_s, spend, take_turns
from trainer.episode import Voice
from trainer.recipe import RunConfig, WarmStart, WorldConfig
from trainer.users import rule_file
from trainer.users.seam import UserFailure, UserReply, UserRequest
from trainer.users.symbolic import SymbolicUser
from trainer.worlds import catalog

BATCH = 32
"""Requests answered in one call, as in the demo's step."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    episodes: int = 100
    """Dialogues of each world whose requests are used."""
    rounds: int = 9


FULL = Sizes()
QUICK = Sizes(episodes=40, rounds=5)


def measure(sizes: Sizes) -> list[Figure]:
    """Time the replies in every world."""
    # Where no user speaks there is nothing to time.
    worlds = [world for world in catalog.WORLDS if catalog.tasks(world, "train")[0].facts]
    return [figure for world in worlds for figure in _measure_world(world, sizes)]


def _measure_world(world: str, sizes: Sizes) -> list[Figure]:
    rules = {world: rule_file.load(catalog.world(world).folder / "user.yaml")}
    requests = _requests(world, SymbolicUser(rules), sizes.episodes)
    user = SymbolicUser(rules)
    # The first pass also reads each task's cues, which a training run does once per task.
    first = [spend(lambda: _answer(user, requests))]
    later = take_turns({"replies": lambda: _answer(user, requests)}, rounds=sizes.rounds)["replies"]
    return [
        Figure(
            f"replies in {world}",
            len(requests) / median_cpu_s(later),
            "replies/s",
            at_least(10_000.0),
            cpu_per_wall(later),
        ),
        Figure(
            f"replies in {world}, tasks met for the first time",
            len(requests) / median_cpu_s(first),
            "replies/s",
            cpu_per_wall=cpu_per_wall(first),
        ),
    ]


def _answer(user: SymbolicUser, requests: Sequence[UserRequest]) -> None:
    for start in range(0, len(requests), BATCH):
        user.reply(requests[start : start + BATCH])


@dataclass
class _Noting:
    """A user engine that notes what it was asked."""

    inner: SymbolicUser
    asked: list[UserRequest] = field(default_factory=list)

    @property
    def voice(self) -> Voice:
        return self.inner.voice

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        self.asked += requests
        return self.inner.reply(requests)


def _requests(world: str, user: SymbolicUser, episodes: int) -> list[UserRequest]:
    """Return what all players of a world say to its user, in equal shares."""
    noting = _Noting(user)
    demonstrations.demonstrate(
        RunConfig(name="bench", worlds={world: WorldConfig()}),
        WarmStart(players=dict.fromkeys(catalog.world(world).players, 1.0), episodes=episodes),
        {world: catalog.tasks(world, "train")},
        noting,
        knobs.defaults(),
    )
    return noting.asked
