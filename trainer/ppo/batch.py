"""Trajectories as right-padded tensors, and how to cut them into forward passes.

Padding stands on the right, so a causal model never lets it touch a real token and no attention
mask is needed; positions are explicit and count from 0 in every row. Tokens after a row's last
action are cut: nothing reads them. This module knows nothing about models or credit.

Dimensions: B trajectories, T tokens of the longest row, S most segments of one row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from trainer.trajectory import Trajectory

PAD_ID = 0


class Reactions(NamedTuple):
    """How users took the segments of a batch, each of shape (B, S)."""

    polarity_BS: Tensor
    """-1, 0 or +1; 0 where there was no reaction."""
    heard_BS: Tensor
    """True where a user's turn followed the segment."""
    valid_BS: Tensor
    """True where its label was usable."""
    exists_BS: Tensor
    """True where the policy wrote anything in the segment."""


@dataclass(frozen=True)
class PackedBatch:
    """One batch of trajectories, all tensors on one device."""

    ids_BT: Tensor
    position_ids_BT: Tensor
    """0, 1, 2, ... in every row, over the padding too: any break in the count would be taken for
    a second packed sequence."""
    action_mask_BT: Tensor
    turn_ids_BT: Tensor
    segment_ids_BT: Tensor
    rollout_logprobs_BT: Tensor
    rewards_BT: Tensor
    lengths_B: tuple[int, ...]
    """Tokens of each row up to and with its last action."""
    truncated_B: Tensor
    """True where a limit cut the episode, as its stop reason says."""
    group_ids_B: Tensor
    reactions: Reactions
    masked_feedback: tuple[tuple[tuple[int, ...], ...], ...]
    """By row and agent turn; a row may have none (see `Trajectory.masked_feedback`)."""

    @property
    def num_actions(self) -> int:
        """Action tokens of the whole batch."""
        return int(self.action_mask_BT.sum())


def pack(trajectories: Sequence[Trajectory], *, device: str = "cpu") -> PackedBatch:
    """Lay trajectories out side by side, in their order.

    Args:
        trajectories: At least one; each with an action token and something before it.
        device: Where the tensors are wanted.

    Raises:
        ValueError: naming the episode that breaks the token-stream contract.
    """
    if not trajectories:
        raise ValueError("an update needs at least one trajectory; skip the step instead")
    for trajectory in trajectories:
        _check(trajectory)
    lengths = tuple(_used_length(trajectory) for trajectory in trajectories)
    width = max(lengths)
    names = dict.fromkeys(trajectory.group_id for trajectory in trajectories)
    groups = {name: rank for rank, name in enumerate(names)}

    def column(name: str, fill: float, dtype: torch.dtype) -> Tensor:
        rows = [
            [*getattr(trajectory, name)[:length], *[fill] * (width - length)]
            for trajectory, length in zip(trajectories, lengths, strict=True)
        ]
        return torch.tensor(rows, dtype=dtype, device=device)

    return PackedBatch(
        ids_BT=column("ids", PAD_ID, torch.int64),
        position_ids_BT=torch.arange(width, device=device).repeat(len(trajectories), 1),
        action_mask_BT=column("action_mask", False, torch.bool),
        turn_ids_BT=column("turn_ids", -1, torch.int64),
        segment_ids_BT=column("segment_ids", -1, torch.int64),
        rollout_logprobs_BT=column("rollout_logprobs", 0.0, torch.float32),
        rewards_BT=column("rewards", 0.0, torch.float32),
        lengths_B=lengths,
        truncated_B=torch.tensor([t.stop.truncated for t in trajectories], device=device),
        group_ids_B=torch.tensor([groups[t.group_id] for t in trajectories], device=device),
        reactions=_reactions(trajectories, device),
        masked_feedback=tuple(t.masked_feedback for t in trajectories),
    )


def _reactions(trajectories: Sequence[Trajectory], device: str) -> Reactions:
    """Lay out the reactions of every row, one column a segment."""
    segments = max(max(t.segment_ids) + 1 for t in trajectories)
    shape = (len(trajectories), segments)
    polarity_BS = torch.zeros(shape, dtype=torch.int64)
    heard_BS, valid_BS, exists_BS = (torch.zeros(shape, dtype=torch.bool) for _ in range(3))
    for row, trajectory in enumerate(trajectories):
        written = {
            s
            for s, acts in zip(trajectory.segment_ids, trajectory.action_mask, strict=True)
            if acts
        }
        exists_BS[row, sorted(written)] = True
        for segment, reaction in enumerate(trajectory.reactions):
            polarity_BS[row, segment] = reaction.polarity
            heard_BS[row, segment] = True
            valid_BS[row, segment] = reaction.valid
    return Reactions(*(part.to(device) for part in (polarity_BS, heard_BS, valid_BS, exists_BS)))


def micro_batches(lengths: Sequence[int], *, max_tokens: int) -> list[list[int]]:
    """Group rows of like length so that no pass holds more padded tokens than allowed.

    Sorting by length first keeps the padding small; a single row longer than the limit gets a pass
    of its own. A pure function of the lengths, so a resumed run is cut as it was before.

    Args:
        lengths: Tokens of each row.
        max_tokens: Limit on rows times the longest row of a pass, >= 1.

    Returns:
        The row numbers of each pass: every row once. Whoever computes by pass writes results back
        by these numbers, masks and values alike.
    """
    passes: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: (-lengths[row], row)):
        if passes and (len(passes[-1]) + 1) * lengths[passes[-1][0]] <= max_tokens:
            passes[-1].append(row)
        else:
            passes.append([row])
    return passes


def minibatches(order: Sequence[int], *, dialogues: int) -> list[list[int]]:
    """Cut a shuffled order of rows into minibatches of nearly equal size.

    Seventeen dialogues in minibatches of sixteen become nine and eight: a minibatch of one would
    take a whole optimizer step on the word of a single dialogue.

    Args:
        order: Row numbers.
        dialogues: Most rows of a minibatch, >= 1.
    """
    count = -(-len(order) // dialogues)
    edges = [len(order) * part // count for part in range(count + 1)]
    return [list(order[start:end]) for start, end in pairwise(edges)]


def _used_length(trajectory: Trajectory) -> int:
    """Count the tokens up to and with the last action."""
    mask = trajectory.action_mask
    return len(mask) - mask[::-1].index(True)


def _check(trajectory: Trajectory) -> None:
    """Refuse a trajectory that would be trained on wrongly."""
    name = f"episode {trajectory.episode_id}"
    length = len(trajectory.ids)
    for part in ("action_mask", "turn_ids", "segment_ids", "rollout_logprobs", "rewards"):
        if len(getattr(trajectory, part)) != length:
            raise ValueError(
                f"{name}: {part} has {len(getattr(trajectory, part))} entries for {length} tokens"
            )
    if not any(trajectory.action_mask):
        raise ValueError(f"{name} holds no action token; drop it from the batch and count it")
    answered, segments = len(trajectory.reactions), max(trajectory.segment_ids) + 1
    if answered > segments:
        raise ValueError(
            f"{name} has {answered} reactions for {segments} segments; a reply can only answer "
            "what the policy wrote"
        )
    if trajectory.action_mask[0]:
        raise ValueError(f"{name} starts with an action; the policy needs a prompt to act on")
    for place, acts in enumerate(trajectory.action_mask):
        reward, logprob = trajectory.rewards[place], trajectory.rollout_logprobs[place]
        if not (math.isfinite(reward) and math.isfinite(logprob)):
            raise ValueError(
                f"{name}, token {place}: reward {reward} and log-probability {logprob} must be "
                "finite; quarantine the episode"
            )
        if reward and not acts:
            raise ValueError(
                f"{name}, token {place}: reward {reward} lies on a token the policy did not "
                "write; place it on the last action before"
            )
