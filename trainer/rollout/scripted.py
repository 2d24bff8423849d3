"""Playing a scripted agent through a world: text alone, no tokens, one episode at a time.

The turns, payments and endings are those of a real rollout, because the same `Dialogue` keeps
them: the last allowed move is carried out, a reply of the user is heard by the world, an ending
is judged. This module knows nothing about models; exceptions of world or player pass through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer import seeds
from trainer.episode import Episode, Outcome, StopReason, Voice
from trainer.message import Choice, Reply, read_action
from trainer.rollout.dialogue import Dialogue, opening_turns, visible_to_user
from trainer.rollout.reward import RewardScheme
from trainer.rollout.schedule import Assignment
from trainer.task import Task
from trainer.users.seam import UserEngine, UserFailure, UserRequest
from trainer.worlds.player import Player
from trainer.worlds.seam import Env

MAX_MALFORMED = 3
"""Unreadable actions in a row that end an episode, as in a rollout."""

_TASK_REWARD_ONLY = RewardScheme()


def play(
    task: Task,
    player: Player,
    *,
    env: Env,
    user: UserEngine,
    user_settings: Mapping[str, Any],
    max_steps: int,
    seed: int,
    scheme: RewardScheme = _TASK_REWARD_ONLY,
    episode_id: str = "000000-00",
    revision: int = 0,
) -> Episode:
    """Return one episode, played to its end.

    Args:
        task: The task that `env` was made for.
        player: Whoever writes the agent's messages.
        env: A fresh world.
        user: Whoever answers; asked for one reply at a time.
        user_settings: The user knobs in force, by their names without `user.`.
        max_steps: Agent turns the episode may take, at least 1.
        seed: The episode's seed; the user's chance is derived from it.
        scheme: The reward knobs in force; by default the task reward alone is paid.
        episode_id: What the episode is called.
        revision: The revision of knobs and worlds that is noted on it.

    Raises:
        ValueError: if `max_steps` is below 1.
    """
    if max_steps < 1:
        raise ValueError(f"max_steps is {max_steps}; an episode needs at least 1 agent turn")
    opening = env.start()
    dialogue = _begin(task, user.voice, scheme, max_steps, seed, episode_id, revision)
    dialogue.turns = opening_turns(opening.system, opening.user)
    while dialogue.stop is None:
        _take_turn(dialogue, player, env, user, user_settings)
    if dialogue.stop.outcome is not Outcome.QUARANTINED:
        dialogue.judge(env.verdict())
    return dialogue.freeze()


def world_seed(seed: int) -> int:
    """Return the seed that an episode's world gets, the same as in a rollout."""
    return seeds.derive(seed, "world")


def _begin(
    task: Task,
    voice: Voice,
    scheme: RewardScheme,
    max_steps: int,
    seed: int,
    episode_id: str,
    revision: int,
) -> Dialogue:
    assignment = Assignment(episode_id, task, group_id=episode_id, rollout_index=0, seed=seed)
    return Dialogue(
        assignment=assignment,
        arm=voice,
        revision=revision,
        policy_version=0,
        scheme=scheme,
        max_steps=max_steps,
        started_s=0.0,
    )


def _take_turn(
    dialogue: Dialogue,
    player: Player,
    env: Env,
    user: UserEngine,
    user_settings: Mapping[str, Any],
) -> None:
    """The agent speaks, the world acts, the user answers, the limits are looked at."""
    text = player.move(tuple(dialogue.turns))
    dialogue.add_agent(text)
    action = read_action(text)
    malformed = action.choice is Choice.MALFORMED
    dialogue.num_malformed = dialogue.num_malformed + 1 if malformed else 0
    result = env.act(action)
    dialogue.take(result)
    if result.say is not None and dialogue.stop is None:
        _ask_user(dialogue, result.say, env, user, user_settings)
    if dialogue.num_malformed >= MAX_MALFORMED:
        dialogue.end(StopReason.MALFORMED, "too many unreadable actions in a row")
    if dialogue.num_agent_turns >= dialogue.max_steps:
        dialogue.end(StopReason.OUT_OF_STEPS)


def _ask_user(
    dialogue: Dialogue,
    message: str,
    env: Env,
    user: UserEngine,
    user_settings: Mapping[str, Any],
) -> None:
    request = UserRequest(
        task=dialogue.assignment.task,
        history=visible_to_user(dialogue.turns),
        message=message,
        state=dialogue.user_state,
        settings=user_settings,
        seed=seeds.derive(dialogue.assignment.seed, "user"),
    )
    (reply,) = user.reply([request])
    if isinstance(reply, UserFailure):
        dialogue.end(StopReason.USER_ERROR, reply.reason)
        return
    dialogue.add_reply(reply)
    dialogue.take(env.hear(Reply(reply.text, reply.revealed, reply.ends, reply.voice)))
    if reply.ends:
        dialogue.end(StopReason.USER_ENDED)
