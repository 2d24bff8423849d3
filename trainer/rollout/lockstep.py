"""Playing in lockstep: a round is one turn of every open dialogue, and waits for the slowest.

Every round samples one turn for each open dialogue in one batch, then lets the worlds act, then
the users answer, each in the order of the batch. It suits a model in this process, whose turns
cost least when all are written together. Deadlines of episodes and steps are looked at between
rounds; those of calls bind the worlds, and the users are bound by their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainer.episode import Voice
from trainer.rollout import stages
from trainer.rollout.dialogue import Dialogue
from trainer.rollout.scene import Performance
from trainer.rollout.stopwatch import Stopwatch
from trainer.users.seam import UserFailure, UserReply
from trainer.worlds.calls import Act, Call, Hear, Result, Start


def play(dialogues: Sequence[Dialogue], performance: Performance, watch: Stopwatch) -> None:
    """Play dialogues to their ends, one turn of all of them at a time."""
    with watch("world"):
        for dialogue in dialogues:
            stages.open_world(dialogue, performance)
        for dialogue, result in _call(dialogues, {one.key: Start() for one in dialogues},
                                      performance):  # fmt: skip
            stages.take_opening(dialogue, result, performance.scene)
    while active := [dialogue for dialogue in dialogues if dialogue.stop is None]:
        _enforce_deadlines(active, performance, watch)
        _take_turn([one for one in active if one.stop is None], performance, watch)


def _enforce_deadlines(
    active: Sequence[Dialogue], performance: Performance, watch: Stopwatch
) -> None:
    now = performance.scene.clock()
    for dialogue in active:
        if now - watch.started_s >= performance.limit_s(dialogue, "step_deadline_s"):
            stages.past_step(dialogue)
        elif now - dialogue.started_s >= performance.limit_s(dialogue, "episode_deadline_s"):
            stages.past_episode(dialogue, performance)


def _take_turn(active: Sequence[Dialogue], performance: Performance, watch: Stopwatch) -> None:
    """One turn of every open dialogue: the agent speaks, the world acts, the user answers."""
    with watch("sample"):
        acts = _speak(active, performance)
    with watch("world"):
        said = _act(active, acts, performance)
    with watch("user"):
        heard = _answer(active, said, performance)
    with watch("world"):
        for dialogue, result in _call(active, heard, performance):
            stages.take_heard(dialogue, heard[dialogue.key], result)
    for dialogue in active:
        if dialogue.key in acts:
            stages.end_turn(dialogue, performance.scene)


def _speak(active: Sequence[Dialogue], performance: Performance) -> dict[str, Act]:
    scene = performance.scene
    requests = [stages.sample_request(one, scene) for one in active]
    if not requests:
        return {}
    completions = scene.sampler.sample(requests, temperature=scene.temperature, greedy=scene.greedy)
    acts: dict[str, Act] = {}
    for dialogue, completion in zip(active, completions, strict=True):
        act = stages.take_completion(dialogue, completion, scene)
        if act is not None:
            acts[dialogue.key] = act
    return acts


def _act(
    active: Sequence[Dialogue], acts: Mapping[str, Act], performance: Performance
) -> dict[str, str]:
    """Let the worlds carry out the agents' moves; return what is to be said to the users."""
    said: dict[str, str] = {}
    for dialogue, result in _call(active, acts, performance):
        message = stages.take_step(dialogue, result)
        if message is not None:
            said[dialogue.key] = message
    return said


def _answer(
    active: Sequence[Dialogue], said: Mapping[str, str], performance: Performance
) -> dict[str, Hear]:
    """Ask every user for an answer, each engine once with its whole batch."""
    batches: dict[tuple[Voice, int], list[Dialogue]] = {}
    for dialogue in active:
        if dialogue.key in said:
            batches.setdefault(stages.user_of(dialogue, performance), []).append(dialogue)
    heard: dict[str, Hear] = {}
    for (voice, revision), batch in sorted(batches.items(), key=lambda entry: entry[0]):
        engine = performance.scene.places.at(revision).users[voice]
        asked = [stages.user_request(one, said[one.key], performance) for one in batch]
        replies: list[UserReply | UserFailure] = engine.reply(asked)
        for dialogue, reply in zip(batch, replies, strict=True):
            hear = stages.take_reply(dialogue, reply)
            if hear is not None:
                heard[dialogue.key] = hear
    return heard


def _call(
    dialogues: Sequence[Dialogue], calls: Mapping[str, Call], performance: Performance
) -> list[tuple[Dialogue, Result]]:
    """Pass calls to the worlds; return what came of each, in the order of the dialogues."""
    results = performance.call(dialogues, calls, performance.call_deadline_s)
    return [(one, results[one.key]) for one in dialogues if one.key in results]
