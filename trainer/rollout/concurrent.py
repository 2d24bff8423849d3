"""Playing concurrently: every dialogue goes on as soon as whom it waits for has answered.

A turn that was written goes at once to its world and its user, and the next one is asked for when
it can be; whoever is slow holds back its own dialogue. What is too late is cut where it is: a turn
is aborted at its server, a world is ended, a user's answer is not waited for. One thread does all
of this; it waits for servers, worlds and users together and for none of them alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from trainer.episode import StopReason
from trainer.policy.sampler import Completion, TurnsInFlight
from trainer.rollout import stages
from trainer.rollout.bell import Bell
from trainer.rollout.dialogue import Dialogue
from trainer.rollout.scene import Performance
from trainer.rollout.stopwatch import Stopwatch
from trainer.rollout.user_replies import UserReplies
from trainer.rollout.world_calls import WorldCalls
from trainer.users.seam import UserFailure, UserReply
from trainer.worlds.calls import Act, Call, Hear, Result, Start

TICK_S = 0.05
"""How often deadlines are looked at while nothing happens."""

SAMPLE, WORLD, USER = "sample", "world", "user"


def play(dialogues: Sequence[Dialogue], performance: Performance, watch: Stopwatch) -> None:
    """Play dialogues to their ends, each at its own pace.

    Args:
        dialogues: In the order in which they begin.
        performance: Its sampler has `TurnsInFlight`.
        watch: Told which stages anything is in.
    """
    with Bell() as bell:
        floor = _Floor(performance, watch, bell)
        floor.play(dialogues)
        floor.drain()


@dataclass
class _Seat:
    """One dialogue under way: whom it waits for, and for how long."""

    dialogue: Dialogue
    episode_end_s: float
    step_end_s: float
    tool_s: float
    turn_s: float
    left_s: float = 0.0
    """What is left of the turn for calls and the user; waiting in line does not count."""
    stage: str = ""
    call: Call | None = None
    """What the world was asked last."""


class _Floor:
    """All dialogues of a rollout that are under way."""

    def __init__(self, performance: Performance, watch: Stopwatch, bell: Bell) -> None:
        scene = performance.scene
        self._performance, self._scene, self._watch, self._bell = performance, scene, watch, bell
        self._sampler = cast("TurnsInFlight", scene.sampler)
        self._calls = WorldCalls(performance, bell.ring)
        self._replies = UserReplies(scene.clock, bell.ring)
        self._seats: dict[str, _Seat] = {}
        self._next: list[_Seat] = []
        """Those whose next turn is to be asked for."""
        self._cut_short: list[Dialogue] = []
        self._aborted: set[str] = set()

    def play(self, dialogues: Sequence[Dialogue]) -> None:
        """Play all dialogues, at most `rollout.max_in_flight` at once."""
        waiting = deque(dialogues)
        most = self._scene.config.max_in_flight or len(waiting)
        while waiting or self._seats:
            while waiting and len(self._seats) < most:
                self._seat(waiting.popleft())
            self._ask_for_turns()
            if self._seats:
                self._bell.wait(self._calls.descriptors(), TICK_S)
            self._take()
            self._cut()

    def drain(self) -> None:
        """Wait until servers and judge have let go of what was cut, at most `drain_deadline_s`."""
        limits = [self._performance.limit_s(one, "drain_deadline_s") for one in self._cut_short]
        until = self._scene.clock() + max(limits, default=0.0)
        while (self._aborted or not self._calls.is_idle) and self._scene.clock() < until:
            self._bell.wait({}, TICK_S)
            self._calls.arrived()
            for key, _ in self._sampler.finished():
                self._aborted.discard(key)

    def _seat(self, dialogue: Dialogue) -> None:
        """Begin a dialogue, unless the step is over."""
        limit_s, now = self._performance.limit_s, self._scene.clock()
        dialogue.started_s = now
        seat = _Seat(
            dialogue,
            episode_end_s=now + limit_s(dialogue, "episode_deadline_s"),
            step_end_s=self._watch.started_s + limit_s(dialogue, "step_deadline_s"),
            tool_s=limit_s(dialogue, "tool_deadline_s"),
            turn_s=limit_s(dialogue, "turn_deadline_s"),
        )
        if now >= seat.step_end_s:
            stages.past_step(dialogue)
            return
        self._seats[dialogue.key] = seat
        seat.left_s = seat.turn_s
        stages.open_world(dialogue, self._performance)
        self._call(seat, Start())

    def _take(self) -> None:
        """Let every dialogue go on whose sampler, world or user has answered."""
        for key, completion in self._sampler.finished():
            self._aborted.discard(key)
            if (seat := self._leave(key, SAMPLE)) is not None:
                self._spoke(seat, completion)
        for key, result, seconds in self._calls.arrived():
            if (seat := self._leave(key, WORLD)) is not None:
                seat.left_s -= seconds
                self._world_answered(seat, result)
        for key, reply, seconds in self._replies.finished():
            if (seat := self._leave(key, USER)) is not None:
                seat.left_s -= seconds
                self._user_answered(seat, reply)

    def _spoke(self, seat: _Seat, completion: Completion) -> None:
        act = stages.take_completion(seat.dialogue, completion, self._scene)
        seat.left_s = seat.turn_s
        self._go_on(seat, act)

    def _world_answered(self, seat: _Seat, result: Result) -> None:
        dialogue, call = seat.dialogue, seat.call
        if isinstance(call, Start):
            stages.take_opening(dialogue, result, self._scene)
            self._go_on(seat, None)
        elif isinstance(call, Hear):
            stages.take_heard(dialogue, call, result)
            self._end_turn(seat)
        elif (message := stages.take_step(dialogue, result)) is None:
            self._end_turn(seat)
        else:
            voice, revision = stages.user_of(dialogue, self._performance)
            engine = self._scene.places.at(revision).users[voice]
            self._enter(seat, USER)
            request = stages.user_request(dialogue, message, self._performance)
            self._replies.ask(dialogue.key, engine, request)

    def _user_answered(self, seat: _Seat, reply: UserReply | UserFailure) -> None:
        if seat.left_s <= 0:
            _end_late_user(seat)
        self._go_on(seat, stages.take_reply(seat.dialogue, reply))

    def _end_turn(self, seat: _Seat) -> None:
        stages.end_turn(seat.dialogue, self._scene)
        self._go_on(seat, None)

    def _go_on(self, seat: _Seat, call: Act | Hear | None) -> None:
        """Ask the world, or for the next turn where there is nothing to ask; or let go."""
        if seat.dialogue.stop is not None:
            del self._seats[seat.dialogue.key]
        elif call is not None:
            self._call(seat, call)
        else:
            self._next.append(seat)

    def _call(self, seat: _Seat, call: Call) -> None:
        seat.call = call
        self._enter(seat, WORLD)
        self._calls.send(seat.dialogue, call, deadline_s=min(seat.tool_s, seat.left_s))

    def _ask_for_turns(self) -> None:
        """Have the next turns written of all dialogues that are ready for one."""
        seats, self._next = self._next, []
        for seat in seats:
            self._enter(seat, SAMPLE)
        if seats:
            self._sampler.begin(
                [stages.sample_request(seat.dialogue, self._scene) for seat in seats],
                temperature=self._scene.temperature,
                greedy=self._scene.greedy,
                ring=self._bell.ring,
            )

    def _cut(self) -> None:
        """End what is too late, wherever it is."""
        now = self._scene.clock()
        for seat in list(self._seats.values()):
            dialogue = seat.dialogue
            if now >= seat.step_end_s:
                stages.past_step(dialogue)
            elif now >= seat.episode_end_s:
                stages.past_episode(dialogue, self._performance)
            elif seat.stage == USER and self._answers_too_late(seat, now):
                _end_late_user(seat)
            else:
                continue
            self._let_go(seat)

    def _answers_too_late(self, seat: _Seat, now: float) -> bool:
        began_s = self._replies.began_s(seat.dialogue.key)
        return began_s is not None and now - began_s >= seat.left_s

    def _let_go(self, seat: _Seat) -> None:
        """Stop whatever is under way for a dialogue that has ended."""
        key, stage = seat.dialogue.key, seat.stage
        self._cut_short.append(seat.dialogue)
        if stage == SAMPLE:
            self._sampler.abort([key])
            self._aborted.add(key)
        elif stage == WORLD:
            self._calls.drop(seat.dialogue)
        elif stage == USER:
            self._replies.drop(key)
        if stage:
            self._watch.end(stage)
        self._next = [one for one in self._next if one is not seat]
        del self._seats[key]

    def _enter(self, seat: _Seat, stage: str) -> None:
        self._watch.begin(stage)
        seat.stage = stage

    def _leave(self, key: str, stage: str) -> _Seat | None:
        """Return who waited there; None for a dialogue that waits for it no more."""
        seat = self._seats.get(key)
        if seat is None or seat.stage != stage:
            return None
        self._watch.end(stage)
        seat.stage = ""
        return seat


def _end_late_user(seat: _Seat) -> None:
    seat.dialogue.end(
        StopReason.USER_ERROR,
        "the user did not answer within what its turn's calls had left of "
        f"environment.turn_deadline_s ({seat.turn_s:g} s)",
    )
