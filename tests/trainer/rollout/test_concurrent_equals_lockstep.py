"""Whoever is fast or slow, concurrent play gives the very episodes that lockstep gives.

With an engine whose words depend on seeds alone, real worlds in processes, symbolic and noisy
users, in this thread or in others.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from gate.contract import knobs
from gate.contract.sides import Side
from gate.guard import Condition
from tests.trainer.rollout.cast import ByteChat, encode
from tests.trainer.rollout.flying import FlyingSampler, Grounded
from trainer import seeds
from trainer.episode import Voice
from trainer.policy.sampler import Completion, Finish, SampleRequest
from trainer.rollout.collect import Rollout, collect
from trainer.rollout.config import RolloutConfig
from trainer.rollout.places import Place, Places
from trainer.rollout.scene import Scene
from trainer.rollout.schedule import Assignment
from trainer.users import rule_file
from trainer.users.noisy import NoiseRates, NoisyUser
from trainer.users.seam import UserEngine, UserFailure, UserReply, UserRequest
from trainer.users.symbolic import SymbolicUser
from trainer.worlds import catalog
from trainer.worlds.host import WorldHost

WORLDS = ("travel", "function")
WORDS = {
    "travel": (
        "Which hotel do you prefer?",
        "[action] Do you need a flight, and when?",
        "[search] hotels",
        "[search] flights and restaurants",
        "[answer] H1",
        "[fly] away",
        "What else matters to you about the rental car?",
    ),
    "function": (
        "[search] 3",
        "[search] 1, 2",
        "[action] What is it for 7?",
        "[answer] 4",
        "[fly] away",
        "Hm.",
    ),
}


@dataclass
class SeededSampler(FlyingSampler):
    """Says what its world's words and the turn's seed give."""

    def _complete(self, request: SampleRequest) -> Completion:
        words = WORDS[self.script[request.dialogue][0]]  # pyright: ignore[reportArgumentType]
        ids = encode(words[request.seed % len(words)])[: request.max_new_tokens]
        logprobs = tuple(-(1 + token % 7) / 8 for token in ids)
        finish = Finish.STOP if ids[-1] == 256 else Finish.LENGTH
        return Completion(ids, logprobs, finish, self.policy_version)


@dataclass(frozen=True)
class SlowUser:
    """Another user's replies, each after a moment of its own, asked from several threads."""

    user: UserEngine
    at_once: int

    @property
    def voice(self) -> Voice:
        """That of the other."""
        return self.user.voice

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Wait and pass it on."""
        time.sleep(seeds.uniform(requests[0].seed, "pace") * 0.01)
        return self.user.reply(requests)


def dealt(count: int) -> list[Assignment]:
    tasks = {world: catalog.tasks(world, "train") for world in WORLDS}
    return [
        Assignment(f"e{n:02d}", tasks[WORLDS[n % 2]][n // 2], f"g{n}", 0, seed=1000 + n)
        for n in range(count)
    ]


def played(sampler: Any, users: dict[Voice, UserEngine], **config: Any) -> Rollout:
    values = {name: dict(content) for name, content in knobs.defaults().values.items()}
    values["user"]["user_strategy_mix"] = 0.5
    values["environment"]["max_steps"] = 6
    condition = Condition(knobs.from_values(values, worlds=WORLDS), revision=2, world_revision=0)
    folders = {world: catalog.world(world).folder for world in WORLDS}
    with WorldHost(folders) as worlds:
        scene = Scene(
            sampler=sampler,
            chat=ByteChat(),
            places=Places(lambda revision: Place(worlds, users)),
            other_voice=Voice.NOISY,
            config=RolloutConfig(max_new_tokens=60, context_tokens=6000, **config),
            prompt_styles={},
            temperature=1.0,
            clock=time.monotonic,
            placeholder="...",
        )
        return collect(dealt(24), scene, conditions={Side.IN_FORCE: condition})


def users(at_once: int | None) -> dict[Voice, UserEngine]:
    folders = {world: catalog.world(world).folder for world in WORLDS}
    symbolic = SymbolicUser({w: rule_file.load(f / "user.yaml") for w, f in folders.items()})
    noisy = NoisyUser(symbolic, NoiseRates(drift=0.2, leak=0.2, forgetting=0.2, early_stop=0.1))
    engines: dict[Voice, UserEngine] = {Voice.SYMBOLIC: symbolic, Voice.NOISY: noisy}
    if at_once is None:
        return engines
    return {voice: SlowUser(engine, at_once) for voice, engine in engines.items()}


def sampler(pace_seed: int) -> SeededSampler:
    paces = random.Random(pace_seed)
    script = {one.episode_id: [one.task.world] for one in dealt(24)}
    return SeededSampler(script, delay_s=lambda request: paces.choice((0.0, 0.001, 0.01, 0.03)))


@pytest.fixture(scope="module")
def lockstep() -> Rollout:
    return played(Grounded(sampler(0)), users(None))


@pytest.mark.parametrize(
    ("pace_seed", "at_once", "most"), [(1, None, None), (2, 4, None), (3, 1, 5)]
)
def test_every_byte_is_the_same(
    lockstep: Rollout, pace_seed: int, at_once: int | None, most: int | None
) -> None:
    flying = sampler(pace_seed)
    found = played(flying, users(at_once), max_in_flight=most)
    assert [one.stop for one in found.episodes] == [one.stop for one in lockstep.episodes]
    assert repr(found.episodes) == repr(lockstep.episodes)
    assert repr(found.trajectories) == repr(lockstep.trajectories)
    assert (found.num_tokens, found.unscored) == (lockstep.num_tokens, lockstep.unscored)
    assert 1 < flying.most_in_flight <= (most or 24)


def test_what_is_compared_is_no_short_story(lockstep: Rollout) -> None:
    speakers = {turn.speaker for one in lockstep.episodes for turn in one.turns}
    assert len(speakers) == 4, "agent, user, tools and the rules all speak"
    assert len({one.stop for one in lockstep.episodes}) >= 3
    assert {one.arm for one in lockstep.episodes} == {Voice.SYMBOLIC, Voice.NOISY}
    assert sum(one.num_agent_turns for one in lockstep.episodes) > 60
