"""In concurrent play a straggler holds back itself alone, and every deadline cuts where it is.

Nothing here depends on speed: a straggler answers when all others have ended, or never.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.trainer.rollout import cast
from tests.trainer.rollout.cast import ScriptedHost, ScriptedUser, Stage
from tests.trainer.rollout.flying import FlyingSampler
from trainer.episode import Outcome, StopReason, Voice
from trainer.policy.sampler import Completion, Finish
from trainer.rollout.collect import Rollout
from trainer.rollout.config import RolloutConfig
from trainer.users.seam import UserFailure, UserReply, UserRequest
from trainer.worlds.calls import Act, Call, Fault, Hear, Result

TURNS = 4
PATIENCE_S = 30.0


def staged(*turns: Sequence[str | Completion], **other: Any) -> Stage:
    sampler = FlyingSampler({f"e{index}": told for index, told in enumerate(turns)})
    return Stage(sampler, **other)


def flying(on: Stage) -> FlyingSampler:
    assert isinstance(on.sampler, FlyingSampler)
    return on.sampler


def when_others_ended(on: Stage, then: Callable[[], None]) -> None:
    """Do something once all dialogues but `e0` have landed all their turns."""
    left = {key: TURNS for key in on.sampler.script if key != "e0"}

    def count(key: str) -> None:
        if key in left:
            left[key] -= 1
            if not any(left.values()):
                then()

    flying(on).on_land = count


def assert_all_played(rollout: Rollout) -> None:
    assert [one.stop for one in rollout.episodes] == [StopReason.OUT_OF_STEPS] * 5
    assert [one.num_agent_turns for one in rollout.episodes] == [TURNS] * 5


@dataclass
class SlowScriptedUser(ScriptedUser):
    """Answers in threads; the message `wait` is answered when the test says so."""

    at_once: int = 2
    gate: threading.Event = field(default_factory=threading.Event)

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Wait if told so."""
        if any(request.message == "wait" for request in requests):
            assert self.gate.wait(PATIENCE_S)
        return super().reply(requests)


@dataclass
class FlyingHost(ScriptedHost):
    """Worlds that answer each call by itself; the move `wait` when the test says so, or never."""

    gate_open: bool = False
    _waiting: dict[str, Result | None] = field(default_factory=dict)

    def send(self, calls: dict[str, Call], *, deadline_s: float) -> None:
        """Take calls."""
        self.deadlines.append(deadline_s)
        for key, call in calls.items():
            waits = isinstance(call, Act) and call.action.content == "wait"
            self._waiting[key] = self._answer(key, call)
            if waits and not self.gate_open:
                self.late = key, self._waiting.pop(key)

    def descriptors(self) -> dict[int, int]:
        """Have none; whoever listens looks now and then."""
        return {}

    def arrived(self) -> dict[str, Result]:
        """Return all answers that are there."""
        if self.gate_open and (late := getattr(self, "late", None)):
            self._waiting[late[0]] = late[1]
            del self.late
        there, self._waiting = self._waiting, {}
        return {key: result for key, result in there.items() if result is not None}


CHAT = ["a", "b", "c", "d"]


def test_a_slow_turn_holds_back_no_other() -> None:
    on = staged(*[CHAT] * 5)
    flying(on).held = {"e0"}
    open_gate = flying(on).held.clear

    def let_go() -> None:
        open_gate()
        flying(on).let_go("e0")

    when_others_ended(on, let_go)
    assert_all_played(on.play(environment__max_steps=TURNS))


def test_a_slow_user_holds_back_no_other() -> None:
    on = staged(["wait", "b", "c", "d"], *[CHAT] * 4)
    user = SlowScriptedUser()
    on.user = user
    when_others_ended(on, user.gate.set)
    rollout = on.play(environment__max_steps=TURNS)
    assert_all_played(rollout)
    assert len(user.asked) == 5 * TURNS


def test_a_slow_tool_holds_back_no_other() -> None:
    on = staged(["[search] wait", "b", "c", "d"], *[CHAT] * 4)
    host = FlyingHost()
    on.host = host
    when_others_ended(on, lambda: setattr(host, "gate_open", True))
    assert_all_played(on.play(environment__max_steps=TURNS))


def test_no_more_are_under_way_than_are_wanted_and_each_begins_when_it_can() -> None:
    config = RolloutConfig(max_new_tokens=20, context_tokens=400, max_in_flight=2)
    on = staged(*[CHAT] * 5, config=config)
    flying(on).delay_s = lambda request: 0.002
    assert_all_played(on.play(environment__max_steps=TURNS))
    assert flying(on).most_in_flight == 2


def test_users_are_asked_no_more_at_once_than_they_bear() -> None:
    lock, under_way, most = threading.Lock(), [0], [0]

    @dataclass
    class Counted(SlowScriptedUser):
        def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
            with lock:
                under_way[0] += 1
                most[0] = max(most[0], under_way[0])
            threading.Event().wait(0.005)
            with lock:
                under_way[0] -= 1
                return super().reply(requests)

    on = staged(*[CHAT] * 5)
    on.user = Counted(at_once=2)
    assert_all_played(on.play(environment__max_steps=TURNS))
    assert most[0] == 2


def test_the_step_cuts_a_turn_in_flight_and_keeps_what_is_done() -> None:
    on = staged(["a"], ["[finish]"])
    flying(on).held = {"e0"}
    on.host = ScriptedHost(results={("e1", 0): cast.SOLVED})
    flying(on).on_land = lambda key: on.clock.advance(901.0 if key == "e1" else 0.0)()
    rollout = on.play()
    assert [one.stop for one in rollout.episodes] == [StopReason.STEP_DEADLINE, StopReason.SOLVED]
    assert flying(on).aborted == ["e0"]
    assert [one.episode_id for one in rollout.trajectories] == ["e1"]
    assert on.host.judged == ["e1"] and on.host.closed == {"e0", "e1"}


def test_the_step_cuts_what_has_not_begun() -> None:
    config = RolloutConfig(max_new_tokens=20, context_tokens=400, max_in_flight=1)
    on = staged(["a"], ["never said"], config=config)
    flying(on).on_land = lambda key: on.clock.advance(901.0)()
    rollout = on.play()
    assert {one.stop for one in rollout.episodes} == {StopReason.STEP_DEADLINE}
    assert "e1" not in on.host.moves and rollout.episodes[1].turns == ()


def test_an_episode_that_takes_too_long_is_cut_while_its_turn_is_written() -> None:
    on = staged(["a"], ["[finish]"], CHAT)
    flying(on).held = {"e0"}
    on.host = ScriptedHost(results={("e1", 0): cast.SOLVED})
    flying(on).on_land = lambda key: on.clock.advance(101.0 if key == "e2" else 0.0)()
    rollout = on.play(environment__episode_deadline_s=200.0)
    late = StopReason.EPISODE_DEADLINE
    assert [one.stop for one in rollout.episodes] == [late, StopReason.SOLVED, late]
    assert "200.0 s" in (rollout.episodes[0].error or "")
    assert flying(on).aborted == ["e0"]


def test_a_tool_past_its_deadline_is_told_by_its_world_and_gets_the_shorter_time() -> None:
    on = staged(["a"], ["[finish]"])
    on.host = FlyingHost(
        results={("e1", 0): cast.SOLVED},
        faults={("e0", Act): Fault(StopReason.WORLD_HUNG, "no answer to act within 4 s")},
    )
    rollout = on.play(environment__tool_deadline_s=9.0, environment__turn_deadline_s=4.0)
    assert [one.stop for one in rollout.episodes] == [StopReason.WORLD_HUNG, StopReason.SOLVED]
    assert set(on.host.deadlines) == {4.0, 30.0}, "the last is that of the verdicts"


def test_a_user_is_not_waited_for_past_the_turns_deadline() -> None:
    on = staged(["wait"], ["b", "c", "[finish]"])
    user = SlowScriptedUser()
    on.user = user
    on.host = ScriptedHost(results={("e1", 2): cast.SOLVED})

    def late(key: str) -> None:
        if key == "e1":
            on.clock.advance(31.0)()

    flying(on).on_land = late
    rollout = on.play(environment__turn_deadline_s=60.0)
    user.gate.set()
    assert [one.stop for one in rollout.episodes] == [StopReason.USER_ERROR, StopReason.SOLVED]
    assert "environment.turn_deadline_s (60 s)" in (rollout.episodes[0].error or "")


def test_what_a_turns_calls_took_is_not_there_for_the_user_and_the_next_turn_begins_anew() -> None:
    on = staged(["a", "b"])
    on.host.on_call = on.clock.advance(3.0)
    on.user.on_reply = on.clock.advance(5.0)
    rollout = on.play(
        environment__turn_deadline_s=12.0,
        environment__max_steps=3,
        environment__tool_deadline_s=9.0,
    )
    assert rollout.episodes[0].stop is StopReason.OUT_OF_STEPS
    assert on.host.deadlines[:5] == [9.0, 9.0, 4.0, 9.0, 4.0]
    on = staged(["a", "b"])
    on.host.on_call = on.clock.advance(3.0)
    on.user.on_reply = on.clock.advance(9.5)
    rollout = on.play(environment__turn_deadline_s=12.0)
    assert rollout.episodes[0].stop is StopReason.USER_ERROR


def test_the_wait_for_aborted_turns_has_an_end() -> None:
    on = staged(["a"], ["[finish]"])
    sampler = flying(on)
    sampler.held, sampler.deaf = {"e0"}, True
    on.host = ScriptedHost(results={("e1", 0): cast.SOLVED})
    sampler.on_land = lambda key: on.clock.advance(901.0)()
    finished = sampler.finished
    waited: list[float] = []

    def counted() -> list[tuple[str, Completion]]:
        if sampler.aborted:
            waited.append(on.clock.now)
            on.clock.advance(10.0)()
        return finished()

    sampler.finished = counted  # pyright: ignore[reportAttributeAccessIssue]
    rollout = on.play(environment__drain_deadline_s=25.0)
    assert [one.stop for one in rollout.episodes] == [StopReason.STEP_DEADLINE, StopReason.SOLVED]
    assert len(waited) == 3, "10 s each, and 25 s in all"
    assert sampler.released == {"e0", "e1"}


def test_an_engine_that_fails_quarantines_its_turns_and_loses_nothing() -> None:
    gone = Completion((), (), Finish.FAILED, 3, "no SGLang server is left")
    on = staged(["a", gone], ["[finish]"], [gone], ["a", "b", gone])
    on.host = ScriptedHost(results={("e1", 0): cast.SOLVED})
    rollout = on.play()
    errors = StopReason.SAMPLER_ERROR
    assert [one.stop for one in rollout.episodes] == [errors, StopReason.SOLVED, errors, errors]
    assert {one.error for one in rollout.episodes} == {None, "no SGLang server is left"}
    assert [one.stop.outcome for one in rollout.episodes].count(Outcome.QUARANTINED) == 3
    assert [one.num_agent_turns for one in rollout.episodes] == [1, 1, 0, 2]


@pytest.mark.parametrize("call", [Act, Hear])
def test_a_world_that_fails_costs_its_own_episode(call: type) -> None:
    on = staged(["a"], ["[finish]"])
    on.host = FlyingHost(
        results={("e1", 0): cast.SOLVED},
        faults={("e0", call): Fault(StopReason.WORLD_DIED, "killed")},
    )
    rollout = on.play()
    assert [one.stop for one in rollout.episodes] == [StopReason.WORLD_DIED, StopReason.SOLVED]


def test_a_fault_of_the_program_in_a_thread_is_raised_and_everybody_is_let_go() -> None:
    @dataclass
    class Broken(SlowScriptedUser):
        def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
            raise KeyError("a bug")

    on = staged(["a"], ["a"])
    on.user = Broken(Voice.SYMBOLIC)
    with pytest.raises(KeyError, match="a bug"):
        on.play()
    assert on.host.closed == {"e0", "e1"} == on.sampler.released


def test_a_stage_is_timed_while_anybody_is_in_it() -> None:
    on = staged(["a", "[finish]"], ["a", "[finish]"])
    on.host = ScriptedHost(results={("e0", 1): cast.SOLVED, ("e1", 1): cast.SOLVED})
    flying(on).held = {"e0"}
    landed: set[str] = set()

    def land(key: str) -> None:
        on.clock.advance(0.0 if key in landed else 10.0)()
        landed.add(key)
        if key == "e1":
            flying(on).held.clear()
            flying(on).let_go("e0")

    flying(on).on_land = land
    on.user.on_reply = on.clock.advance(2.0)
    timings = on.play().timings
    assert timings["rollout"] == 24.0
    assert timings["sample"] == 22.0, "e0 was being written while the other's user answered"
    assert timings["user"] == 4.0
