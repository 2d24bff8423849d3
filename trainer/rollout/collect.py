"""Collecting episodes: policy, users and worlds in lockstep, one turn of all dialogues at a time.

Every round samples one turn for each open dialogue in one batch, then lets the worlds act, then
the users answer, each in the order of the batch. So the result does not depend on who was fast,
and a resumed run samples the same tokens. Whatever fails costs its own episode: it becomes a
quarantined value with a reason, never a zero and never a crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gate.contract.knobs import Knobs
from gate.contract.sides import Side
from gate.guard import Condition
from trainer import seeds
from trainer.episode import Episode, Speaker, StopReason, Voice
from trainer.message import Choice, Reply, read_action
from trainer.policy.sampler import Completion, Finish, SampleRequest
from trainer.rollout import reward
from trainer.rollout.dialogue import Dialogue, opening_turns, visible_to_user
from trainer.rollout.judging import judge, rescore
from trainer.rollout.scene import Performance, Scene
from trainer.rollout.schedule import Assignment
from trainer.rollout.stopwatch import Stopwatch
from trainer.trajectory import Trajectory
from trainer.users.mixed import draw_voice
from trainer.users.seam import UserFailure, UserReply, UserRequest
from trainer.worlds.calls import Act, Call, Fault, Hear, Result, Start
from trainer.worlds.seam import Opening, StepResult


class Rollout(NamedTuple):
    """All episodes gathered under one policy version, in the order they were dealt."""

    episodes: tuple[Episode, ...]
    trajectories: tuple[Trajectory, ...]
    """Of the finished ones, in the same order."""
    num_tokens: Mapping[str, tuple[int, int]]
    """Per episode: tokens of the dialogue, and those that the policy wrote."""
    timings: Mapping[str, float]
    """Seconds spent with the sampler, the worlds and the users."""
    unscored: Mapping[str, str] = {}
    """By episode, why revision 0's verifier had no word on it."""


def collect(
    assignments: Sequence[Assignment], scene: Scene, *, conditions: Mapping[Side, Condition]
) -> Rollout:
    """Play every assignment to its end.

    Args:
        assignments: The episodes of one step.
        scene: Who takes part.
        conditions: What each side that is dealt plays under, for the whole rollout.
    """
    watch = Stopwatch(scene.clock)
    performance = Performance(scene, conditions)
    dialogues = [_begin(entry, performance) for entry in assignments]
    try:
        with watch("world"):
            _open(dialogues, performance)
        while active := [dialogue for dialogue in dialogues if dialogue.stop is None]:
            _enforce_deadlines(active, performance, watch)
            _take_turn([one for one in active if one.stop is None], performance, watch)
        with watch("world"):
            judge(dialogues, performance)
    finally:
        performance.close(dialogues)
    with watch("world"):
        unscored = rescore(dialogues, performance)
    return _freeze(dialogues, watch, unscored)


def _begin(assignment: Assignment, performance: Performance) -> Dialogue:
    world = assignment.task.world
    condition = performance.conditions[assignment.side]
    scales = condition.knobs.get("environment.per_world_scale") or {}
    return Dialogue(
        assignment=assignment,
        arm=_voice(assignment, 0, condition.knobs, performance.scene),
        revision=condition.revision,
        policy_version=performance.scene.sampler.policy_version,
        scheme=reward.scheme(
            condition.knobs.file("reward", world), scale=float(scales.get(world, 1.0))
        ),
        max_steps=int(condition.knobs.get("environment.max_steps", world)),
        started_s=performance.scene.clock(),
    )


def _voice(assignment: Assignment, reply_index: int, knobs: Knobs, scene: Scene) -> Voice:
    settings = knobs.file("user", assignment.task.world)
    per_turn = settings["mix_unit"] == "turn"
    symbolic = draw_voice(
        float(settings["user_strategy_mix"]),
        seed=assignment.seed,
        turn=reply_index if per_turn else None,
    )
    return Voice.SYMBOLIC if symbolic else scene.other_voice


def _open(dialogues: Sequence[Dialogue], performance: Performance) -> None:
    scene = performance.scene
    for dialogue in dialogues:
        performance.place(dialogue).worlds.open(
            dialogue.key,
            dialogue.assignment.task,
            settings=performance.settings(dialogue),
            seed=seeds.derive(dialogue.assignment.seed, "world"),
        )
    results = _call(dialogues, {one.key: Start() for one in dialogues}, performance)
    for dialogue in dialogues:
        opening = results.get(dialogue.key)
        if isinstance(opening, Opening):
            dialogue.turns = opening_turns(opening.system, opening.user)
            prompt = scene.chat.open(opening.system, opening.user)
            dialogue.stream.observe(prompt, starts_segment=True)
            if len(prompt) >= scene.config.context_tokens:
                dialogue.end(
                    StopReason.NO_ACTION,
                    f"the prompt has {len(prompt)} tokens; rollout.context_tokens is "
                    f"{scene.config.context_tokens}: raise it",
                )


def _call(
    dialogues: Sequence[Dialogue], calls: Mapping[str, Call], performance: Performance
) -> dict[str, Result]:
    """Pass calls to the worlds; a fault ends its dialogue and is left out of the result."""
    results = performance.call(dialogues, calls, performance.call_deadline_s)
    for dialogue in dialogues:
        result = results.get(dialogue.key)
        if isinstance(result, Fault):
            dialogue.end(result.stop, result.detail)
            del results[dialogue.key]
    return results


def _enforce_deadlines(
    active: Sequence[Dialogue], performance: Performance, watch: Stopwatch
) -> None:
    now = performance.scene.clock()
    for dialogue in active:
        longest = performance.limit_s(dialogue, "episode_deadline_s")
        if now - watch.started_s >= performance.limit_s(dialogue, "step_deadline_s"):
            dialogue.end(StopReason.STEP_DEADLINE, "the step's deadline passed")
        elif now - dialogue.started_s >= longest:
            dialogue.end(StopReason.EPISODE_DEADLINE, f"the episode took more than {longest} s")


def _take_turn(active: Sequence[Dialogue], performance: Performance, watch: Stopwatch) -> None:
    """One turn of every open dialogue: the agent speaks, the world acts, the user answers."""
    with watch("sample"):
        texts = _speak(active, performance.scene)
    with watch("world"):
        spoken = [one for one in active if one.stop is None]
        said = _act(spoken, texts, performance)
    with watch("user"):
        replies = _answer([one for one in spoken if one.key in said], said, performance)
    with watch("world"):
        _hear(spoken, replies, performance)
    for dialogue in spoken:
        if dialogue.num_malformed >= performance.scene.config.max_malformed:
            dialogue.end(StopReason.MALFORMED, "too many unreadable actions in a row")
        if dialogue.num_agent_turns >= dialogue.max_steps:
            dialogue.end(StopReason.OUT_OF_STEPS)
        if dialogue.stop is None:
            _read_back(dialogue, performance.scene)


def _speak(active: Sequence[Dialogue], scene: Scene) -> dict[str, str]:
    requests = [
        SampleRequest(
            dialogue=one.key,
            ids=one.stream.ids,
            max_new_tokens=min(
                scene.config.max_new_tokens, scene.config.context_tokens - len(one.stream.ids)
            ),
            seed=seeds.derive(one.assignment.seed, "sample", one.num_agent_turns),
        )
        for one in active
    ]
    if not requests:
        return {}
    completions = scene.sampler.sample(requests, temperature=scene.temperature, greedy=scene.greedy)
    texts: dict[str, str] = {}
    for dialogue, completion in zip(active, completions, strict=True):
        if _take_completion(dialogue, completion):
            texts[dialogue.key] = scene.chat.decode(completion.ids)
            dialogue.add_agent(texts[dialogue.key])
    return texts


def _take_completion(dialogue: Dialogue, completion: Completion) -> bool:
    if completion.finish is Finish.FAILED:
        dialogue.end(StopReason.SAMPLER_ERROR, completion.error)
    elif completion.policy_version != dialogue.policy_version:
        dialogue.end(
            StopReason.SAMPLER_ERROR,
            f"tokens of policy version {completion.policy_version} in an episode of version "
            f"{dialogue.policy_version}; the sampler missed a sync",
        )
    elif not completion.ids:
        dialogue.end(StopReason.OUT_OF_TOKENS if dialogue.turns[2:] else StopReason.NO_ACTION)
    else:
        dialogue.stream.act(len(dialogue.stream.ids), completion.ids, completion.logprobs)
        dialogue.last_turn_ended = completion.finish is Finish.STOP
        return True
    return False


def _act(
    spoken: Sequence[Dialogue], texts: Mapping[str, str], performance: Performance
) -> dict[str, str]:
    """Let the worlds carry out the agents' moves; return what is to be said to the users."""
    calls: dict[str, Call] = {}
    for dialogue in spoken:
        action = read_action(texts[dialogue.key])
        malformed = action.choice is Choice.MALFORMED
        dialogue.num_malformed = dialogue.num_malformed + 1 if malformed else 0
        calls[dialogue.key] = Act(action)
    said: dict[str, str] = {}
    results = _call(spoken, calls, performance)
    for dialogue in spoken:
        result = results.get(dialogue.key)
        if isinstance(result, StepResult):
            dialogue.take(result)
            if result.say is not None and dialogue.stop is None:
                said[dialogue.key] = result.say
    return said


def _answer(
    asked: Sequence[Dialogue], said: Mapping[str, str], performance: Performance
) -> dict[str, UserReply]:
    """Ask every user for an answer, each engine once with its whole batch."""
    batches: dict[tuple[Voice, int], list[Dialogue]] = {}
    for dialogue in asked:
        condition, num_replies = performance.condition(dialogue), dialogue.user_state.num_replies
        voice = _voice(dialogue.assignment, num_replies, condition.knobs, performance.scene)
        batches.setdefault((voice, condition.world_revision), []).append(dialogue)
    replies: dict[str, UserReply] = {}
    for (voice, revision), batch in sorted(batches.items(), key=lambda entry: entry[0]):
        engine = performance.scene.places.at(revision).users[voice]
        requests = [_request(one, said[one.key], performance.knobs(one)) for one in batch]
        for dialogue, reply in zip(batch, engine.reply(requests), strict=True):
            if isinstance(reply, UserFailure):
                dialogue.end(StopReason.USER_ERROR, reply.reason)
            else:
                dialogue.add_reply(reply)
                replies[dialogue.key] = reply
    return replies


def _request(dialogue: Dialogue, message: str, knobs: Knobs) -> UserRequest:
    return UserRequest(
        task=dialogue.assignment.task,
        history=visible_to_user(dialogue.turns),
        message=message,
        state=dialogue.user_state,
        settings=knobs.file("user", dialogue.world),
        seed=seeds.derive(dialogue.assignment.seed, "user"),
    )


def _hear(
    spoken: Sequence[Dialogue], replies: Mapping[str, UserReply], performance: Performance
) -> None:
    listeners = [one for one in spoken if one.key in replies]
    calls: dict[str, Call] = {}
    for dialogue in listeners:
        reply = replies[dialogue.key]
        calls[dialogue.key] = Hear(Reply(reply.text, reply.revealed, reply.ends, reply.voice))
    results = _call(listeners, calls, performance)
    for dialogue in listeners:
        result = results.get(dialogue.key)
        if isinstance(result, StepResult):
            dialogue.take(result)
            if replies[dialogue.key].ends:
                dialogue.end(StopReason.USER_ENDED)


def _read_back(dialogue: Dialogue, scene: Scene) -> None:
    """Give the agent what was said since its last turn, or end where it does not fit."""
    answered = any(speaker is Speaker.USER for speaker, _ in dialogue.unread)
    glue = scene.chat.extend(dialogue.unread, ended=dialogue.last_turn_ended)
    if len(dialogue.stream.ids) + len(glue) >= scene.config.context_tokens:
        dialogue.end(StopReason.OUT_OF_TOKENS)
        return
    dialogue.stream.observe(glue, starts_segment=answered)
    if scene.placeholder is not None:
        silent = [(speaker, scene.placeholder) for speaker, _ in dialogue.unread]
        dialogue.masked_feedback.append(scene.chat.extend(silent, ended=dialogue.last_turn_ended))
    dialogue.unread = []


def _freeze(
    dialogues: Sequence[Dialogue], watch: Stopwatch, unscored: Mapping[str, str]
) -> Rollout:
    episodes = tuple(dialogue.freeze() for dialogue in dialogues)
    pairs = [
        dialogue.trajectory(episode) for dialogue, episode in zip(dialogues, episodes, strict=True)
    ]
    return Rollout(
        episodes=episodes,
        trajectories=tuple(trajectory for trajectory in pairs if trajectory is not None),
        num_tokens={
            one.key: (len(one.stream.ids), sum(one.stream.action_mask)) for one in dialogues
        },
        timings=watch.seconds,
        unscored=unscored,
    )
