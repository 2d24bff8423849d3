"""With a real server, dialogues that go on by themselves end sooner than those in lockstep.

SGLang 0.5.23 on the CPU from `.venv-sglang`, a tiny model that was taught nothing, and users who
take their time as a served model does: most of them a third of a second, one in thirty three.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.scale import install_sglang
from tests.scale.test_sglang import section
from tests.trainer.rollout import cast
from tests.trainer.rollout.flying import Grounded
from trainer import seeds
from trainer.episode import StopReason, Voice
from trainer.policy.build import small_qwen3
from trainer.policy.sampler import Finish, Sampler, SampleRequest
from trainer.policy.sglang_sampler import SglangSampler
from trainer.rollout.collect import Rollout, collect
from trainer.rollout.config import RolloutConfig
from trainer.rollout.places import Place, Places
from trainer.rollout.scene import Scene
from trainer.rollout.schedule import Assignment
from trainer.users import rule_file
from trainer.users.seam import UserFailure, UserReply, UserRequest
from trainer.users.symbolic import SymbolicUser
from trainer.worlds import catalog
from trainer.worlds.host import WorldHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not install_sglang.PYTHON.exists(), reason="`make sglang` installs the server"
    ),
]

DIALOGUES = 32
TURNS = 4
AT_ONCE = 32
VOCABULARY = 300


class RawChat(cast.ByteChat):
    """Bytes of a policy that has learnt no language yet."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return what can be read of it, as words to the user."""
        return "[action] " + bytes(token for token in ids if token < 256).decode("latin-1")


@dataclass(frozen=True)
class SlowUser:
    """The symbolic user, after a while that the dialogue and the reply decide."""

    user: SymbolicUser
    at_once: int = AT_ONCE
    voice: Voice = Voice.SYMBOLIC

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Answer a batch, so many at once."""
        with ThreadPoolExecutor(self.at_once) as pool:
            list(pool.map(lambda one: time.sleep(_pause_s(one)), requests))
        return self.user.reply(requests)


def _pause_s(request: UserRequest) -> float:
    chance = seeds.uniform(request.seed, "pause", request.state.num_replies)
    return 3.0 if chance < 1 / 30 else 0.2 + 0.3 * chance


@pytest.fixture(scope="module")
def sampler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SglangSampler]:
    config = section(exchange=str(tmp_path_factory.mktemp("exchange")))
    model = small_qwen3(VOCABULARY, seed=1)
    one = SglangSampler(model, {cast.END}, config, name="pace", max_tokens=2048)
    one.sync(0)
    yield one
    one.close()


def played(sampler: Sampler, **limits: float) -> tuple[Rollout, float]:
    tasks = catalog.tasks("travel", "train")[:DIALOGUES]
    dealt = [Assignment(f"e{n}", task, f"g{n}", 0, seed=n) for n, task in enumerate(tasks)]
    folder = catalog.world("travel").folder
    user = SlowUser(SymbolicUser({"travel": rule_file.load(folder / "user.yaml")}))
    with WorldHost({"travel": folder}) as worlds:
        scene = Scene(
            sampler=sampler,
            chat=RawChat(),
            places=Places(lambda revision: Place(worlds, {Voice.SYMBOLIC: user})),
            other_voice=Voice.NOISY,
            config=RolloutConfig(max_new_tokens=12, context_tokens=2048),
            prompt_styles={},
            temperature=1.0,
            clock=time.monotonic,
        )
        began = time.monotonic()
        conditions = cast.conditions(environment__max_steps=TURNS, **limits)
        rollout = collect(dealt, scene, conditions=conditions)
        return rollout, time.monotonic() - began


def test_concurrent_play_takes_less_time_for_as_many_turns(sampler: SglangSampler) -> None:
    played(sampler)  # the server compiles, and reads every prompt once
    seconds: dict[str, list[float]] = {"lockstep": [], "concurrent": []}
    for _ in range(2):
        for name, one in (("lockstep", Grounded(sampler)), ("concurrent", sampler)):
            rollout, took = played(one)
            assert {each.stop for each in rollout.episodes} == {StopReason.OUT_OF_STEPS}
            assert sum(each.num_agent_turns for each in rollout.episodes) == DIALOGUES * TURNS
            seconds[name].append(round(took, 2))
            print(name, round(took, 2), {k: round(v, 2) for k, v in rollout.timings.items()})
    assert sum(seconds["concurrent"]) < sum(seconds["lockstep"])


def test_the_step_cuts_turns_that_the_server_writes_and_it_is_free_again(
    sampler: SglangSampler,
) -> None:
    rollout, took = played(sampler, environment__step_deadline_s=0.6)
    assert {each.stop for each in rollout.episodes} == {StopReason.STEP_DEADLINE}
    assert took < 60.0
    bell = threading.Event()
    sampler.begin([SampleRequest("after", [1, 2, 3], 4, 0)], temperature=1.0, ring=bell.set)
    assert bell.wait(60.0)
    ((key, turn),) = sampler.finished()
    assert key == "after" and turn.finish is not Finish.FAILED
