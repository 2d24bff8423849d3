"""Collecting episodes: policy, users and worlds in lockstep, one turn of all dialogues at a time.

Every round samples one turn for each open dialogue in one batch, then lets the worlds act, then
the users answer, each in the order of the batch. So the result does not depend on who was fast,
and a resumed run samples the same tokens. Whatever fails costs its own episode: it becomes a
quarantined value with a reason, never a zero and never a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gate.contract.knobs import Knobs
from trainer import seeds
from trainer.episode import Episode, Outcome, Speaker, StopReason, Voice
from trainer.message import Choice, Reply, read_action
from trainer.policy.sampler import Completion, Finish, Sampler, SampleRequest
from trainer.rollout import reward
from trainer.rollout.config import RolloutConfig
from trainer.rollout.dialogue import Dialogue, opening_turns, visible_to_user
from trainer.rollout.schedule import Assignment
from trainer.rollout.stopwatch import Stopwatch
from trainer.trajectory import Trajectory
from trainer.users.mixed import draw_voice
from trainer.users.seam import UserEngine, UserFailure, UserReply, UserRequest
from trainer.worlds.calls import Act, Call, Fault, Hear, Host, Judge, Result, Start
from trainer.worlds.seam import Opening, StepResult, Verdict


class Chat(Protocol):
    """What a rollout needs of a chat format (see `trainer.policy.chat.ChatFormat`)."""

    def open(self, system: str, user: str) -> list[int]:
        """Return the prompt's tokens, the agent's first header included."""
        ...

    def extend(self, messages: Sequence[tuple[Speaker, str]], *, ended: bool) -> list[int]:
        """Return what stands between two turns of the agent; `ended` if it sampled its end."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of sampled tokens, special ones left out."""
        ...


@dataclass(frozen=True)
class Scene:
    """Everyone who takes part in a rollout, and its fixed settings."""

    sampler: Sampler
    chat: Chat
    worlds: Host
    users: Mapping[Voice, UserEngine]
    other_voice: Voice
    """Who plays the user when the symbolic user is not drawn."""
    config: RolloutConfig
    prompt_styles: Mapping[str, str]
    temperature: float
    clock: Callable[[], float]
    """Monotonic seconds."""
    greedy: bool = False
    placeholder: str | None = None
    """Stands in for every message of the masked feedback; None where no credit asks for it."""


class Rollout(NamedTuple):
    """All episodes gathered under one policy version, in the order they were dealt."""

    episodes: tuple[Episode, ...]
    trajectories: tuple[Trajectory, ...]
    """Of the finished ones, in the same order."""
    num_tokens: Mapping[str, tuple[int, int]]
    """Per episode: tokens of the dialogue, and those that the policy wrote."""
    timings: Mapping[str, float]
    """Seconds spent with the sampler, the worlds and the users."""


def collect(
    assignments: Sequence[Assignment], scene: Scene, *, knobs: Knobs, revision: int, seed: int
) -> Rollout:
    """Play every assignment to its end.

    Args:
        assignments: The episodes of one step.
        scene: Who takes part.
        knobs: The knobs in force, for the whole rollout.
        revision: Their revision, noted on every episode.
        seed: The run's seed, for the draw of who plays the user.
    """
    watch = Stopwatch(scene.clock)
    limits = knobs.file("environment")
    step_ends_s = scene.clock() + float(limits["step_deadline_s"])
    dialogues = [_begin(entry, scene, knobs, revision, seed) for entry in assignments]
    try:
        with watch("world"):
            _open(dialogues, scene, knobs)
        while active := [dialogue for dialogue in dialogues if dialogue.stop is None]:
            _enforce_deadlines(active, scene, knobs, step_ends_s)
            _take_turn([one for one in active if one.stop is None], scene, knobs, watch)
        with watch("world"):
            _judge(dialogues, scene, limits)
    finally:
        keys = [dialogue.key for dialogue in dialogues]
        scene.worlds.close(keys)
        scene.sampler.release(keys)
    return _freeze(dialogues, watch)


def _begin(
    assignment: Assignment, scene: Scene, knobs: Knobs, revision: int, seed: int
) -> Dialogue:
    world = assignment.task.world
    scales = knobs.get("environment.per_world_scale") or {}
    scheme = reward.scheme(knobs.file("reward", world), scale=float(scales.get(world, 1.0)))
    return Dialogue(
        assignment=assignment,
        arm=_voice(assignment, 0, scene, knobs),
        revision=revision,
        policy_version=scene.sampler.policy_version,
        scheme=scheme,
        max_steps=int(knobs.get("environment.max_steps", world)),
        started_s=scene.clock(),
    )


def _voice(assignment: Assignment, reply_index: int, scene: Scene, knobs: Knobs) -> Voice:
    settings = knobs.file("user", assignment.task.world)
    per_turn = settings["mix_unit"] == "turn"
    symbolic = draw_voice(
        float(settings["user_strategy_mix"]),
        seed=assignment.seed,
        turn=reply_index if per_turn else None,
    )
    return Voice.SYMBOLIC if symbolic else scene.other_voice


def _open(dialogues: Sequence[Dialogue], scene: Scene, knobs: Knobs) -> None:
    for dialogue in dialogues:
        task = dialogue.assignment.task
        settings = {
            "max_steps": dialogue.max_steps,
            "prompt_style": scene.prompt_styles.get(task.world, "compact"),
            "tool_deadline_s": _call_deadline_s(knobs, task.world),
        }
        world_seed = seeds.derive(dialogue.assignment.seed, "world")
        scene.worlds.open(dialogue.key, task, settings=settings, seed=world_seed)
    results = _call(dialogues, {one.key: Start() for one in dialogues}, scene, knobs)
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
    dialogues: Sequence[Dialogue], calls: Mapping[str, Call], scene: Scene, knobs: Knobs
) -> dict[str, Result]:
    """Pass calls to the worlds; a fault ends its dialogue and is left out of the result."""
    if not calls:
        return {}
    by_deadline: dict[float, dict[str, Call]] = {}
    for dialogue in dialogues:
        if dialogue.key in calls:
            deadline_s = _call_deadline_s(knobs, dialogue.assignment.task.world)
            by_deadline.setdefault(deadline_s, {})[dialogue.key] = calls[dialogue.key]
    results: dict[str, Result] = {}
    for deadline_s, batch in by_deadline.items():
        results |= scene.worlds.call(batch, deadline_s=deadline_s)
    for dialogue in dialogues:
        result = results.get(dialogue.key)
        if isinstance(result, Fault):
            dialogue.end(result.stop, result.detail)
            del results[dialogue.key]
    return results


def _call_deadline_s(knobs: Knobs, world: str) -> float:
    """Return the seconds that one call into a world may take."""
    return min(
        float(knobs.get("environment.tool_deadline_s", world)),
        float(knobs.get("environment.turn_deadline_s", world)),
    )


def _enforce_deadlines(
    active: Sequence[Dialogue], scene: Scene, knobs: Knobs, step_ends_s: float
) -> None:
    now = scene.clock()
    for dialogue in active:
        world = dialogue.assignment.task.world
        longest = float(knobs.get("environment.episode_deadline_s", world))
        if now >= step_ends_s:
            dialogue.end(StopReason.STEP_DEADLINE, "the step's deadline passed")
        elif now - dialogue.started_s >= longest:
            dialogue.end(StopReason.EPISODE_DEADLINE, f"the episode took more than {longest} s")


def _take_turn(active: Sequence[Dialogue], scene: Scene, knobs: Knobs, watch: Stopwatch) -> None:
    """One turn of every open dialogue: the agent speaks, the world acts, the user answers."""
    with watch("sample"):
        texts = _speak(active, scene)
    with watch("world"):
        spoken = [one for one in active if one.stop is None]
        said = _act(spoken, texts, scene, knobs)
    with watch("user"):
        replies = _answer([one for one in spoken if one.key in said], said, scene, knobs)
    with watch("world"):
        _hear(spoken, replies, scene, knobs)
    for dialogue in spoken:
        if dialogue.num_malformed >= scene.config.max_malformed:
            dialogue.end(StopReason.MALFORMED, "too many unreadable actions in a row")
        if dialogue.num_agent_turns >= dialogue.max_steps:
            dialogue.end(StopReason.OUT_OF_STEPS)
        if dialogue.stop is None:
            _read_back(dialogue, scene)


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
    spoken: Sequence[Dialogue], texts: Mapping[str, str], scene: Scene, knobs: Knobs
) -> dict[str, str]:
    """Let the worlds carry out the agents' moves; return what is to be said to the users."""
    calls: dict[str, Call] = {}
    for dialogue in spoken:
        action = read_action(texts[dialogue.key])
        malformed = action.choice is Choice.MALFORMED
        dialogue.num_malformed = dialogue.num_malformed + 1 if malformed else 0
        calls[dialogue.key] = Act(action)
    said: dict[str, str] = {}
    results = _call(spoken, calls, scene, knobs)
    for dialogue in spoken:
        result = results.get(dialogue.key)
        if isinstance(result, StepResult):
            dialogue.take(result)
            if result.say is not None and dialogue.stop is None:
                said[dialogue.key] = result.say
    return said


def _answer(
    asked: Sequence[Dialogue], said: Mapping[str, str], scene: Scene, knobs: Knobs
) -> dict[str, UserReply]:
    """Ask every user for an answer, each engine once with its whole batch."""
    batches: dict[Voice, list[Dialogue]] = {}
    for dialogue in asked:
        voice = _voice(dialogue.assignment, dialogue.user_state.num_replies, scene, knobs)
        batches.setdefault(voice, []).append(dialogue)
    replies: dict[str, UserReply] = {}
    for voice in sorted(batches):
        requests = [_request(one, said[one.key], knobs) for one in batches[voice]]
        for dialogue, reply in zip(batches[voice], scene.users[voice].reply(requests), strict=True):
            if isinstance(reply, UserFailure):
                dialogue.end(StopReason.USER_ERROR, reply.reason)
            else:
                dialogue.add_reply(reply)
                replies[dialogue.key] = reply
    return replies


def _request(dialogue: Dialogue, message: str, knobs: Knobs) -> UserRequest:
    task = dialogue.assignment.task
    return UserRequest(
        task=task,
        history=visible_to_user(dialogue.turns),
        message=message,
        state=dialogue.user_state,
        settings=knobs.file("user", task.world),
        seed=seeds.derive(dialogue.assignment.seed, "user"),
    )


def _hear(
    spoken: Sequence[Dialogue], replies: Mapping[str, UserReply], scene: Scene, knobs: Knobs
) -> None:
    listeners = [one for one in spoken if one.key in replies]
    calls: dict[str, Call] = {}
    for dialogue in listeners:
        reply = replies[dialogue.key]
        calls[dialogue.key] = Hear(Reply(reply.text, reply.revealed, reply.ends, reply.voice))
    results = _call(listeners, calls, scene, knobs)
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


def _judge(dialogues: Sequence[Dialogue], scene: Scene, limits: Mapping[str, Any]) -> None:
    ended = [
        one for one in dialogues if one.stop is not None and one.stop.outcome is Outcome.FINISHED
    ]
    if not ended:
        return
    calls: dict[str, Call] = {one.key: Judge() for one in ended}
    verdicts = scene.worlds.call(calls, deadline_s=float(limits["drain_deadline_s"]))
    for dialogue in ended:
        verdict = verdicts[dialogue.key]
        if isinstance(verdict, Verdict):
            dialogue.judge(verdict)
        elif isinstance(verdict, Fault):
            # The verifier failed: the ending is unknown, so the episode is not a failure.
            dialogue.stop, dialogue.error = verdict.stop, verdict.detail


def _freeze(dialogues: Sequence[Dialogue], watch: Stopwatch) -> Rollout:
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
    )
