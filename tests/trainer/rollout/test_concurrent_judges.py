"""In concurrent play a judge is awaited by the worlds that asked it, and by nobody else."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gate.contract.sides import Side
from gate.guard import Condition
from tests.trainer.judges.scripted import STORY, ScriptedJudge
from tests.trainer.rollout import cast
from tests.trainer.rollout.flying import FlyingSampler, Grounded
from tests.trainer.rollout.test_asking import TURNS, AskingHost
from trainer.episode import StopReason, Voice
from trainer.judges.seam import JudgeFailure
from trainer.policy.sampler import Sampler
from trainer.question import Answer, Question
from trainer.rollout.asking import MAX_ROUNDS
from trainer.rollout.collect import Rollout, collect
from trainer.rollout.config import RolloutConfig
from trainer.rollout.places import Place, Places
from trainer.rollout.scene import Scene
from trainer.worlds.calls import Call, Result

PATIENCE_S = 30.0


@dataclass
class FlyingAskingHost(AskingHost):
    """The same worlds, which answer each call by itself."""

    _there: dict[str, Result] = field(default_factory=dict)

    def send(self, calls: Mapping[str, Call], *, deadline_s: float) -> None:
        """Take calls."""
        self.deadlines.append(deadline_s)
        self._there |= {key: self._answer(key, call) for key, call in calls.items()}

    def descriptors(self) -> dict[int, int]:
        """Have none."""
        return {}

    def arrived(self) -> dict[str, Result]:
        """Return all answers."""
        there, self._there = self._there, {}
        return there


def played(
    sampler: Sampler, script: Mapping[str, Sequence[str]], judge: ScriptedJudge, host: AskingHost
) -> Rollout:
    scene = Scene(
        sampler=sampler,
        chat=cast.ByteChat(),
        places=Places(lambda revision: Place(host, {Voice.SYMBOLIC: cast.ScriptedUser()})),
        other_voice=Voice.NOISY,
        config=RolloutConfig(max_new_tokens=20, context_tokens=400),
        prompt_styles={},
        temperature=1.0,
        clock=cast.Clock(),
        judge=judge,
        judged=frozenset({"travel"}),
    )
    conditions = {Side.IN_FORCE: Condition(cast.values(environment__max_steps=4), 0, 0)}
    return collect(cast.assignments(len(script)), scene, conditions=conditions)


def test_what_a_judge_says_is_the_same_in_both_ways_of_playing() -> None:
    script = {f"e{index}": TURNS for index in range(3)}

    def judge() -> ScriptedJudge:
        return ScriptedJudge(lambda question: (0.5, 1.0))

    hosts = FlyingAskingHost(), AskingHost()
    found = played(FlyingSampler(script), script, judge(), hosts[0])
    lockstep = played(Grounded(FlyingSampler(script)), script, judge(), hosts[1])
    assert repr(found.episodes) == repr(lockstep.episodes)
    assert found.episodes[0].judged and found.episodes[0].success == 0.5
    assert hosts[0].told == hosts[1].told


def test_a_slow_judge_holds_back_those_alone_that_asked_it() -> None:
    script = {"e0": TURNS, "e1": ["a", "b", "c", "d"], "e2": ["a", "b", "c", "d"]}
    gate, left = threading.Event(), {"e1": 4, "e2": 4}

    def say(question: Question) -> Answer:
        assert gate.wait(PATIENCE_S)
        return (1.0, 1.0)

    def land(key: str) -> None:
        left[key] = left.get(key, 0) - 1
        if left["e1"] == left["e2"] == 0:
            gate.set()

    sampler = FlyingSampler(script, on_land=land)
    rollout = played(sampler, script, ScriptedJudge(say), FlyingAskingHost())
    out = StopReason.OUT_OF_STEPS
    assert [one.stop for one in rollout.episodes] == [StopReason.FAILED, out, out]
    assert rollout.episodes[0].success == 1.0


def test_a_judge_without_an_answer_costs_the_episode_that_asked() -> None:
    script = {"e0": TURNS, "e1": ["a"]}
    judge = ScriptedJudge(lambda question: JudgeFailure("no answer in 60 s"))
    rollout = played(FlyingSampler(script), script, judge, FlyingAskingHost())
    stops = [one.stop for one in rollout.episodes]
    assert stops == [StopReason.JUDGE_UNAVAILABLE, StopReason.OUT_OF_STEPS]
    assert rollout.episodes[0].error == "no answer in 60 s"


def test_a_world_that_asks_on_and_on_is_invalid_and_one_that_asks_thrice_is_not() -> None:
    script = {"e0": TURNS}
    for rounds, stop in (
        (3, StopReason.FAILED),
        (MAX_ROUNDS + 1, StopReason.WORLD_INVALID),
    ):
        host = FlyingAskingHost(rounds=rounds)
        rollout = played(FlyingSampler(script), script, ScriptedJudge(), host)
        assert rollout.episodes[0].stop is stop
    assert replace(STORY, asks="1?").digest in host.told["e0"][1]
