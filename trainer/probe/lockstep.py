"""Scripted episodes in lockstep: every world is asked at once, turn by turn, in worker processes.

The turns, payments and endings are those of `trainer.rollout.scripted.play`, because the same
`Dialogue` keeps them. A world that fails costs its own episode. The candidate's code never runs in
this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer import seeds
from trainer.episode import Episode, Outcome, StopReason
from trainer.message import Choice, Reply, read_action
from trainer.rollout.dialogue import Dialogue, opening_turns, visible_to_user
from trainer.rollout.reward import RewardScheme
from trainer.rollout.schedule import Assignment
from trainer.rollout.scripted import MAX_MALFORMED, world_seed
from trainer.task import Task
from trainer.users.seam import UserEngine, UserFailure, UserRequest
from trainer.worlds.calls import Act, Call, Fault, Hear, Host, Judge, Result, Start
from trainer.worlds.player import Player
from trainer.worlds.seam import Opening, StepResult, Verdict


@dataclass(frozen=True)
class Part:
    """One episode to be played."""

    key: str
    """Names it towards the host."""
    task: Task
    player: Player
    settings: Mapping[str, Any]
    """What the world is made with; `max_steps` among it."""
    seed: int


@dataclass(frozen=True)
class Ground:
    """What all episodes of a batch share."""

    host: Host
    user: UserEngine
    user_settings: Mapping[str, Any]
    scheme: RewardScheme
    deadline_s: float
    """Seconds that one call into a world may take."""
    before_each: Callable[[], None]
    """Called before each round; what it raises ends the batch."""


def play(parts: Sequence[Part], ground: Ground) -> list[Episode]:
    """Return the episodes, each played to its end, in the order of the parts."""
    dialogues = [_begin(part, ground) for part in parts]
    try:
        for part in parts:
            ground.host.open(
                part.key, part.task, settings=part.settings, seed=world_seed(part.seed)
            )
        _start(dialogues, ground)
        players = {part.key: part.player for part in parts}
        while active := [one for one in dialogues if one.stop is None]:
            _take_turn(active, players, ground)
        _judge(dialogues, ground)
    finally:
        ground.host.close([part.key for part in parts])
    return [dialogue.freeze() for dialogue in dialogues]


def _begin(part: Part, ground: Ground) -> Dialogue:
    return Dialogue(
        assignment=Assignment(part.key, part.task, part.key, rollout_index=0, seed=part.seed),
        arm=ground.user.voice,
        revision=0,
        policy_version=0,
        scheme=ground.scheme,
        max_steps=int(part.settings["max_steps"]),
        started_s=0.0,
    )


def _start(dialogues: Sequence[Dialogue], ground: Ground) -> None:
    results = _call({one.key: Start() for one in dialogues}, dialogues, ground)
    for dialogue in dialogues:
        opening = results[dialogue.key]
        if isinstance(opening, Opening):
            dialogue.turns = opening_turns(opening.system, opening.user)


def _take_turn(active: Sequence[Dialogue], players: Mapping[str, Player], ground: Ground) -> None:
    """The agents speak, the worlds act, the users answer, the limits are looked at."""
    acts: dict[str, Call] = {}
    for one in active:
        text = players[one.key].move(tuple(one.turns))
        one.add_agent(text)
        action = read_action(text)
        one.num_malformed = one.num_malformed + 1 if action.choice is Choice.MALFORMED else 0
        acts[one.key] = Act(action)
    results = _call(acts, active, ground)
    replies: dict[str, Call] = {}
    for one in active:
        result = results[one.key]
        if isinstance(result, StepResult):
            one.take(result)
            if result.say is not None and one.stop is None:
                _answer(one, result.say, ground, replies)
    heard = _call(replies, active, ground) if replies else {}
    for one in active:
        result = heard.get(one.key)
        if isinstance(result, StepResult):
            one.take(result)
        call = replies.get(one.key)
        if isinstance(call, Hear) and call.reply.ends:
            one.end(StopReason.USER_ENDED)
        if one.num_malformed >= MAX_MALFORMED:
            one.end(StopReason.MALFORMED, "too many unreadable actions in a row")
        if one.num_agent_turns >= one.max_steps:
            one.end(StopReason.OUT_OF_STEPS)


def _answer(one: Dialogue, message: str, ground: Ground, replies: dict[str, Call]) -> None:
    request = UserRequest(
        task=one.assignment.task,
        history=visible_to_user(one.turns),
        message=message,
        state=one.user_state,
        settings=ground.user_settings,
        seed=seeds.derive(one.assignment.seed, "user"),
    )
    (reply,) = ground.user.reply([request])
    if isinstance(reply, UserFailure):
        one.end(StopReason.USER_ERROR, reply.reason)
        return
    one.add_reply(reply)
    replies[one.key] = Hear(Reply(reply.text, reply.revealed, reply.ends, reply.voice))


def _judge(dialogues: Sequence[Dialogue], ground: Ground) -> None:
    calls: dict[str, Call] = {
        one.key: Judge()
        for one in dialogues
        if one.stop is not None and one.stop.outcome is not Outcome.QUARANTINED
    }
    results = _call(calls, dialogues, ground) if calls else {}
    for one in dialogues:
        verdict = results.get(one.key)
        if isinstance(verdict, Verdict):
            one.judge(verdict)


def _call(
    calls: Mapping[str, Call], dialogues: Sequence[Dialogue], ground: Ground
) -> dict[str, Result]:
    """Pass calls to the worlds; a fault ends its episode, also one that had its reason."""
    ground.before_each()
    results = ground.host.call(calls, deadline_s=ground.deadline_s)
    for one in dialogues:
        fault = results.get(one.key)
        if isinstance(fault, Fault):
            one.stop, one.error = fault.stop, fault.detail
    return results
