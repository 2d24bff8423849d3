"""The stages of one dialogue: it is opened, the agent speaks, the world acts, the user answers.

Each stage has what is to be asked of somebody, and what follows from the answer; who waits for
whom in between is not known here. Whatever fails ends its own dialogue with a reason, never with
a zero and never with a crash.
"""

from __future__ import annotations

from gate.contract.knobs import Knobs
from trainer import seeds
from trainer.episode import Speaker, StopReason, Voice
from trainer.message import Choice, Reply, read_action
from trainer.policy.sampler import Completion, Finish, SampleRequest
from trainer.rollout import reward
from trainer.rollout.dialogue import Dialogue, opening_turns, visible_to_user
from trainer.rollout.scene import Performance, Scene
from trainer.rollout.schedule import Assignment
from trainer.users.mixed import draw_voice
from trainer.users.seam import UserFailure, UserReply, UserRequest
from trainer.worlds.calls import Act, Fault, Hear, Result
from trainer.worlds.seam import Opening, StepResult


def begin(assignment: Assignment, performance: Performance) -> Dialogue:
    """Return the dialogue of an assignment; nothing has been said and nobody been asked."""
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


def open_world(dialogue: Dialogue, performance: Performance) -> None:
    """Have the dialogue's world begin; its first call is `Start`."""
    performance.place(dialogue).worlds.open(
        dialogue.key,
        dialogue.assignment.task,
        settings=performance.settings(dialogue),
        seed=seeds.derive(dialogue.assignment.seed, "world"),
    )


def take_opening(dialogue: Dialogue, result: Result, scene: Scene) -> None:
    """Give the agent its prompt, or end a dialogue whose prompt does not fit."""
    if _is_over(dialogue, result) or not isinstance(result, Opening):
        return
    dialogue.turns = opening_turns(result.system, result.user)
    prompt = scene.chat.open(result.system, result.user)
    dialogue.stream.observe(prompt, starts_segment=True)
    if len(prompt) >= scene.config.context_tokens:
        dialogue.end(
            StopReason.NO_ACTION,
            f"the prompt has {len(prompt)} tokens; rollout.context_tokens is "
            f"{scene.config.context_tokens}: raise it",
        )


def sample_request(dialogue: Dialogue, scene: Scene) -> SampleRequest:
    """Return the agent's next turn as it is asked of the sampler."""
    ids = dialogue.stream.ids
    return SampleRequest(
        dialogue=dialogue.key,
        ids=ids,
        max_new_tokens=min(scene.config.max_new_tokens, scene.config.context_tokens - len(ids)),
        seed=seeds.derive(dialogue.assignment.seed, "sample", dialogue.num_agent_turns),
    )


def take_completion(dialogue: Dialogue, completion: Completion, scene: Scene) -> Act | None:
    """Note what the agent wrote; return its move, or None if the dialogue is over."""
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
        text = scene.chat.decode(completion.ids)
        dialogue.add_agent(text)
        action = read_action(text)
        malformed = action.choice is Choice.MALFORMED
        dialogue.num_malformed = dialogue.num_malformed + 1 if malformed else 0
        return Act(action)
    return None


def take_step(dialogue: Dialogue, result: Result) -> str | None:
    """Note what the world did; return what is to be said to the user, if anything is."""
    if _is_over(dialogue, result) or not isinstance(result, StepResult):
        return None
    dialogue.take(result)
    return result.say if dialogue.stop is None else None


def user_of(dialogue: Dialogue, performance: Performance) -> tuple[Voice, int]:
    """Return who answers next, and the revision that this user is of."""
    condition, num_replies = performance.condition(dialogue), dialogue.user_state.num_replies
    voice = _voice(dialogue.assignment, num_replies, condition.knobs, performance.scene)
    return voice, condition.world_revision


def user_request(dialogue: Dialogue, message: str, performance: Performance) -> UserRequest:
    """Return what the user is asked."""
    return UserRequest(
        task=dialogue.assignment.task,
        history=visible_to_user(dialogue.turns),
        message=message,
        state=dialogue.user_state,
        settings=performance.knobs(dialogue).file("user", dialogue.world),
        seed=seeds.derive(dialogue.assignment.seed, "user"),
    )


def take_reply(dialogue: Dialogue, reply: UserReply | UserFailure) -> Hear | None:
    """Note what the user said; return how the world hears of it, or None without an answer."""
    if isinstance(reply, UserFailure):
        dialogue.end(StopReason.USER_ERROR, reply.reason)
        return None
    dialogue.add_reply(reply)
    return Hear(Reply(reply.text, reply.revealed, reply.ends, reply.voice))


def take_heard(dialogue: Dialogue, hear: Hear, result: Result) -> None:
    """Note what the world made of the user's words; a user that had enough ends the dialogue."""
    if not _is_over(dialogue, result) and isinstance(result, StepResult):
        dialogue.take(result)
        if hear.reply.ends:
            dialogue.end(StopReason.USER_ENDED)


def end_turn(dialogue: Dialogue, scene: Scene) -> None:
    """See whether a limit is reached; else let the agent read what was said since its turn."""
    if dialogue.num_malformed >= scene.config.max_malformed:
        dialogue.end(StopReason.MALFORMED, "too many unreadable actions in a row")
    if dialogue.num_agent_turns >= dialogue.max_steps:
        dialogue.end(StopReason.OUT_OF_STEPS)
    if dialogue.stop is None:
        _read_back(dialogue, scene)


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


def past_step(dialogue: Dialogue) -> None:
    """End a dialogue that the step does not wait for any more."""
    dialogue.end(StopReason.STEP_DEADLINE, "the step's deadline passed")


def past_episode(dialogue: Dialogue, performance: Performance) -> None:
    """End a dialogue that took too long."""
    longest = performance.limit_s(dialogue, "episode_deadline_s")
    dialogue.end(StopReason.EPISODE_DEADLINE, f"the episode took more than {longest} s")


def _is_over(dialogue: Dialogue, result: Result) -> bool:
    """End a dialogue whose world failed; True then."""
    if isinstance(result, Fault):
        dialogue.end(result.stop, result.detail)
        return True
    return False
