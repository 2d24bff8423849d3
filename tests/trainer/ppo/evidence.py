"""Credit batches drawn by hand, and configurations for the methods that compare groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from trainer.ppo.batch import Reactions
from trainer.ppo.credit import ESTIMATORS, Credit, CreditBatch
from trainer.ppo.learner import LearnConfig, LearnSettings

SETTINGS = LearnSettings(actor_lr=1e-3, critic_lr=1e-3)
GROUPED = [name for name, method in ESTIMATORS.items() if method.needs_groups]


def evidence(
    turns: Sequence[Sequence[tuple[float, int]]],
    *,
    groups: Sequence[int] | None = None,
    reactions: Sequence[Sequence[int | None]] = (),
    gains: Sequence[Sequence[float | None]] = (),
    seed: int = 0,
) -> CreditBatch:
    """Return a batch in which every turn is a segment of its own.

    Args:
        turns: By row and turn: its reward, and how many tokens it has; a token of text stands
            before each turn.
        groups: Group of each row; all in one by default.
        reactions: By row and segment; None for a reply with an invalid label.
        gains: By row and turn: log-ratio of each token of the turn; None where there was none.
        seed: For methods that draw.
    """
    rows = [_row(row) for row in turns]
    width = max(len(row) for row in rows)
    turn_ids_BT = torch.full((len(rows), width), -1)
    rewards_BT = torch.zeros(len(rows), width, dtype=torch.float64)
    for at, row in enumerate(rows):
        turn_ids_BT[at, : len(row)] = torch.tensor([turn for turn, _ in row])
        rewards_BT[at, : len(row)] = torch.tensor([reward for _, reward in row]).double()
    gains_BT, informed_BT = torch.zeros_like(rewards_BT), torch.zeros_like(turn_ids_BT).bool()
    for at, row in enumerate(gains):
        for turn, gain in enumerate(row):
            if gain is not None:
                gains_BT[at, turn_ids_BT[at] == turn] = gain
                informed_BT[at, turn_ids_BT[at] == turn] = True
    return CreditBatch(
        rewards_BT=rewards_BT,
        kl_rewards_BT=torch.zeros_like(rewards_BT),
        action_mask_BT=turn_ids_BT >= 0,
        turn_ids_BT=turn_ids_BT,
        segment_ids_BT=turn_ids_BT,
        group_ids_B=torch.tensor(groups if groups is not None else [0] * len(rows)),
        values_BT=None,
        bootstrap_B=None,
        reactions=_reactions(turns, reactions),
        logprob_gains_BT=gains_BT,
        informed_BT=informed_BT,
        seed=seed,
    )


def _row(turns: Sequence[tuple[float, int]]) -> list[tuple[int, float]]:
    """Lay out one row as (turn, reward) of each token; a turn's reward is on its last one."""
    row: list[tuple[int, float]] = []
    for turn, (reward, tokens) in enumerate(turns):
        row += [(-1, 0.0), *[(turn, 0.0)] * (tokens - 1), (turn, reward)]
    return row


def _reactions(
    turns: Sequence[Sequence[tuple[float, int]]], reactions: Sequence[Sequence[int | None]]
) -> Reactions:
    segments = max(len(row) for row in turns)
    polarity_BS = torch.zeros(len(turns), segments, dtype=torch.int64)
    heard_BS, valid_BS, exists_BS = (torch.zeros(len(turns), segments).bool() for _ in range(3))
    for at, row in enumerate(turns):
        exists_BS[at, : len(row)] = True
    for at, row in enumerate(reactions):
        for segment, polarity in enumerate(row):
            polarity_BS[at, segment] = polarity or 0
            heard_BS[at, segment], valid_BS[at, segment] = True, polarity is not None
    return Reactions(polarity_BS, heard_BS, valid_BS, exists_BS)


def outcomes(rewards: Sequence[float], **changes: Any) -> CreditBatch:
    """Return a batch of one-turn dialogues of two tokens each."""
    return evidence([[(reward, 2)] for reward in rewards], **changes)


def estimate(name: str, batch: CreditBatch, **changes: Any) -> Credit:
    """Run one method with a configuration that differs from the default as told."""
    return ESTIMATORS[name].estimate(batch, SETTINGS, LearnConfig(credit=name, **changes))


def per_turn(credit: Credit, batch: CreditBatch) -> list[list[float]]:
    """Return each turn's advantage, after making sure that its tokens share it."""
    found: list[list[float]] = []
    for row, turns in zip(credit.advantages_BT, batch.turn_ids_BT, strict=True):
        values = [row[turns == turn] for turn in range(int(turns.max()) + 1)]
        assert all(bool((one == one[0]).all()) for one in values)
        found.append([float(one[0]) for one in values])
    return found


def with_rewards(batch: CreditBatch, rewards_BT: Tensor) -> CreditBatch:
    """Return the same batch with other rewards."""
    return replace(batch, rewards_BT=rewards_BT)
