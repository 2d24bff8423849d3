"""Trajectories: the token-level view of an episode that PPO trains on.

One dialogue is one flat list of tokens, built append-only. What the policy sampled is marked by
the action mask and by nothing else; text is never decoded and encoded again. This module knows
nothing about tensors, models or words.

Dimensions: T tokens of one dialogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from trainer.episode import Episode, RewardEvent, StopReason


class Reaction(NamedTuple):
    """How a user took a segment, read from the private label of the reply that ended it."""

    polarity: int
    """-1, 0 or +1."""
    valid: bool = True
    """False where the user's engine gave no usable label; the polarity is then 0."""


@dataclass(frozen=True)
class Trajectory:
    """One dialogue as PPO sees it; every sequence has length T."""

    ids: tuple[int, ...]
    action_mask: tuple[bool, ...]
    """True for every token the policy sampled, a sampled end token included."""
    turn_ids: tuple[int, ...]
    """Agent turn of each action token, counted from 0; -1 elsewhere."""
    segment_ids: tuple[int, ...]
    """Index of the segment (between two user turns) of each action token; -1 elsewhere."""
    rollout_logprobs: tuple[float, ...]
    """Log-probability under the sampler, at the sampling temperature; 0 where not an action."""
    rewards: tuple[float, ...]
    """Nonzero only on action tokens: each turn's reward sits on the turn's last one."""
    stop: StopReason
    episode_id: str
    task_id: str
    group_id: str
    """Rollouts of one task in one step share it (critic-free methods compare within it)."""
    arm: str
    revision: int
    policy_version: int
    reactions: tuple[Reaction, ...] = ()
    """By segment index; a last segment that no user's reply ended has none. They are for credit
    alone and never part of `ids`."""
    masked_feedback: tuple[tuple[int, ...], ...] = ()
    """By agent turn: the tokens that would have followed it, had the reply or the tool's result
    said nothing. Kept only for a method of credit that asks what the feedback was worth."""

    @property
    def num_actions(self) -> int:
        """How many tokens the policy wrote."""
        return sum(self.action_mask)


@dataclass
class TokenStream:
    """The append-only token list of a dialogue that is still going on."""

    ids: list[int] = field(default_factory=list)
    action_mask: list[bool] = field(default_factory=list)
    turn_ids: list[int] = field(default_factory=list)
    segment_ids: list[int] = field(default_factory=list)
    rollout_logprobs: list[float] = field(default_factory=list)
    num_turns: int = 0
    num_segments: int = 0

    def observe(self, ids: Sequence[int], *, starts_segment: bool = False) -> None:
        """Append tokens that the policy did not write: prompts, replies, tool results, glue.

        Args:
            ids: Token ids.
            starts_segment: True when they carry a user's turn, so that the next actions belong
                to a new segment.
        """
        self.ids.extend(ids)
        self.action_mask.extend([False] * len(ids))
        self.turn_ids.extend([-1] * len(ids))
        self.segment_ids.extend([-1] * len(ids))
        self.rollout_logprobs.extend([0.0] * len(ids))
        self.num_segments += starts_segment

    def act(self, prompt_length: int, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        """Append one sampled turn exactly as the engine returned it.

        Args:
            prompt_length: How many tokens the engine was given; it must be the whole stream, so
                that every input is a prefix of the next (token in, token out).
            ids: The sampled ids, a sampled end token included.
            logprobs: Their log-probabilities at the sampling temperature.

        Raises:
            ValueError: if the engine saw another prefix than the stream, or lengths differ.
        """
        if prompt_length != len(self.ids):
            raise ValueError(
                f"the sampler was given {prompt_length} tokens but the dialogue holds "
                f"{len(self.ids)}; an input must be the whole dialogue so far"
            )
        if len(ids) != len(logprobs):
            raise ValueError(f"{len(ids)} sampled ids came with {len(logprobs)} log-probabilities")
        self.ids.extend(ids)
        self.action_mask.extend([True] * len(ids))
        self.turn_ids.extend([self.num_turns] * len(ids))
        self.segment_ids.extend([max(self.num_segments - 1, 0)] * len(ids))
        self.rollout_logprobs.extend(logprobs)
        self.num_turns += 1


def place_rewards(
    turn_ids: Sequence[int], action_mask: Sequence[bool], events: Sequence[RewardEvent]
) -> tuple[float, ...]:
    """Return one reward per token: each payment on the last action token of its turn.

    A payment for a turn in which the policy wrote nothing goes to the last action before it, and
    a payment before the first action to the first turn that has one, so no reward is ever lost or
    scored on a token that the policy did not write.

    Raises:
        ValueError: if there is no action token to carry a reward.
    """
    last_action: dict[int, int] = {}
    for position, turn in enumerate(turn_ids):
        if action_mask[position]:
            last_action[turn] = position
    rewards = [0.0] * len(turn_ids)
    if not events:
        return tuple(rewards)
    if not last_action:
        raise ValueError("a dialogue without action tokens cannot carry a reward; drop it")
    for event in events:
        before = [turn for turn in last_action if turn <= event.turn]
        carrier = max(before) if before else min(last_action)
        rewards[last_action[carrier]] += event.value
    return tuple(rewards)


def from_stream(
    stream: TokenStream,
    episode: Episode,
    *,
    group_id: str,
    policy_version: int,
    reactions: Sequence[Reaction] = (),
    masked_feedback: Sequence[Sequence[int]] = (),
) -> Trajectory:
    """Freeze a finished dialogue.

    Args:
        stream: The dialogue's tokens.
        episode: What was lived; its rewards are placed on the tokens that earned them.
        group_id: Which rollouts this one is compared with.
        policy_version: The version of the policy that sampled every action.
        reactions: How the user took each segment.
        masked_feedback: What stands in for the feedback after each turn; empty if not wanted.

    Raises:
        ValueError: if the dialogue holds no action token (see `place_rewards`).
    """
    return Trajectory(
        ids=tuple(stream.ids),
        action_mask=tuple(stream.action_mask),
        turn_ids=tuple(stream.turn_ids),
        segment_ids=tuple(stream.segment_ids),
        rollout_logprobs=tuple(stream.rollout_logprobs),
        rewards=place_rewards(stream.turn_ids, stream.action_mask, episode.rewards),
        stop=episode.stop,
        episode_id=episode.id,
        task_id=episode.task_id,
        group_id=group_id,
        arm=episode.arm.value,
        revision=episode.revision,
        policy_version=policy_version,
        reactions=tuple(reactions),
        masked_feedback=tuple(tuple(ids) for ids in masked_feedback),
    )
