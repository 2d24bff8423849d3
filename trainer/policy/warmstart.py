"""Supervised warm start: a policy learns to speak like demonstrations before it learns by reward.

Demonstrations become tokens through the same chat format and token stream as lived dialogues, so
what is trained is what will be sampled: the agent's words and their end tokens, nothing else.
Same demonstrations, same seed, same weights. This module knows nothing about worlds.

Dimensions: B dialogues of a batch, T tokens of the longest, A agent tokens in the batch, H size
of the residual stream, V vocabulary.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel

from trainer import seeds
from trainer.episode import Speaker
from trainer.policy.build import Policy
from trainer.policy.chat import ChatFormat
from trainer.policy.llama import FAMILY
from trainer.trajectory import TokenStream

PASS_TOKENS = 2048
"""Padded tokens of one forward and backward pass; how a batch is cut never changes its loss."""


class Demonstration(NamedTuple):
    """A dialogue worth imitating."""

    system: str
    turns: Sequence[tuple[Speaker, str]]
    """A user's message first; what follows the agent's last turn is left out."""


class Schedule(StrEnum):
    """How the learning rate falls after its rise."""

    COSINE = "cosine"
    LINEAR = "linear"
    CONSTANT = "constant"


@dataclass(frozen=True)
class WarmStartConfig:
    """What a warm start fixes."""

    steps: int
    tokens_per_batch: int = 4096
    """Tokens of one optimizer step, padding included."""
    lr: float = 3e-3
    """The highest learning rate."""
    seed: int = 0
    """Decides the order of the demonstrations."""
    schedule: Schedule = Schedule.COSINE
    rise: float = 0.05
    """Share of the steps in which the learning rate rises from 0."""
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0


def warm_start(
    policy: Policy,
    demonstrations: Sequence[Demonstration],
    config: WarmStartConfig,
    *,
    progress: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Train the policy's model in place on the agent's turns of the demonstrations.

    Args:
        policy: Its weights change; samplers must be synced afterwards.
        demonstrations: Dialogues, in any order.
        config: How long and how fast.
        progress: Called after each step with the number of steps done and the step's loss.

    Returns:
        The loss of every step: mean negative log-likelihood of an agent token, in nats.

    Raises:
        ValueError: if there is nothing to learn, or a dialogue is longer than the model's context
            or than a batch.
        FloatingPointError: if the loss is not finite.
    """
    context = getattr(policy.model.config, "max_position_embeddings", None) or math.inf
    longest = int(min(context, config.tokens_per_batch))
    streams = [demonstrate(policy.chat, one) for one in demonstrations]
    for index, stream in enumerate(streams):
        if len(stream.ids) > longest:
            raise ValueError(
                f"demonstration {index} has {len(stream.ids)} tokens; the context of the model is "
                f"{context} and a batch holds {config.tokens_per_batch}. Leave it out or raise them"
            )
    if not streams or config.steps < 1:
        raise ValueError(
            f"nothing to learn: {len(streams)} demonstrations and {config.steps} steps; "
            "both must be at least 1"
        )
    model = policy.model
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.lr, weight_decay=config.weight_decay, fused=True
    )
    losses: list[float] = []
    model.train()
    # Dropout, where a model has it, must not depend on what ran before.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.derive(config.seed, "dropout"))
        while len(losses) < config.steps:
            epoch = seeds.stream(config.seed, "epoch", len(losses))
            for batch in bucket(streams, config.tokens_per_batch, epoch):
                lr = learning_rate(len(losses), config)
                losses.append(_step(model, optimizer, batch, config, lr))
                if progress is not None:
                    progress(len(losses), losses[-1])
                if len(losses) == config.steps:
                    break
    model.zero_grad(set_to_none=True)
    model.eval()
    return losses


def demonstrate(chat: ChatFormat, demonstration: Demonstration) -> TokenStream:
    """Return the tokens of a demonstration as if the policy had sampled its agent's turns.

    Raises:
        ValueError: if it does not open with a user's message, or the agent never speaks.
    """
    turns = list(demonstration.turns)
    while turns and turns[-1][0] is not Speaker.AGENT:
        turns.pop()
    if not turns or turns[0][0] is not Speaker.USER:
        raise ValueError(
            "a demonstration opens with a user's message and holds a turn of the agent; got "
            f"{[speaker.value for speaker, _ in demonstration.turns]}"
        )
    stream = TokenStream()
    stream.observe(chat.open(demonstration.system, turns[0][1]), starts_segment=True)
    waiting: list[tuple[Speaker, str]] = []
    for speaker, text in turns[1:]:
        if speaker is not Speaker.AGENT:
            waiting.append((speaker, text))
            continue
        if stream.num_turns:
            from_user = any(who is Speaker.USER for who, _ in waiting)
            stream.observe(chat.extend(waiting, ended=True), starts_segment=from_user)
        ids = chat.write(text)
        stream.act(len(stream.ids), ids, [0.0] * len(ids))
        waiting = []
    return stream


def bucket(
    streams: Sequence[TokenStream], tokens_per_batch: int, chance: random.Random
) -> list[list[TokenStream]]:
    """Cut the dialogues into batches of like lengths, in random order.

    Every dialogue is in exactly one batch, and no batch has more than `tokens_per_batch` tokens
    with its padding, unless a single dialogue does.
    """
    # Lengths are blurred by a tenth, so that not the same dialogues meet in every epoch.
    blurred = [(len(s.ids) * chance.uniform(0.9, 1.1), i) for i, s in enumerate(streams)]
    batches: list[list[TokenStream]] = [[]]
    widest = 0
    for _, index in sorted(blurred):
        stream = streams[index]
        widest = max(widest, len(stream.ids))
        if batches[-1] and widest * (len(batches[-1]) + 1) > tokens_per_batch:
            batches.append([])
            widest = len(stream.ids)
        batches[-1].append(stream)
    chance.shuffle(batches)
    return batches


def learning_rate(step: int, config: WarmStartConfig) -> float:
    """Return the learning rate of a step, counted from 0."""
    rise = max(round(config.rise * config.steps), 1)
    if step < rise:
        return config.lr * (step + 1) / rise
    done = (step - rise) / max(config.steps - rise, 1)
    match config.schedule:
        case Schedule.COSINE:
            return config.lr * 0.5 * (1 + math.cos(math.pi * done))
        case Schedule.LINEAR:
            return config.lr * (1 - done)
        case Schedule.CONSTANT:
            return config.lr


def _step(
    model: PreTrainedModel,
    optimizer: torch.optim.Optimizer,
    batch: Sequence[TokenStream],
    config: WarmStartConfig,
    lr: float,
) -> float:
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad(set_to_none=True)
    num_actions = sum(sum(stream.action_mask) for stream in batch)
    value = 0.0
    for part in bucket(batch, PASS_TOKENS, random.Random(0)):
        # The mean over the whole batch, not a mean of means: each part weighs by its tokens.
        share = sum(sum(stream.action_mask) for stream in part) / num_actions
        loss = imitation_loss(model, part) * share
        loss.backward()
        value += loss.item()
    if not math.isfinite(value):
        raise FloatingPointError(
            f"the warm start diverged (loss {value}); lower its lr from {config.lr:g}"
        )
    torch.nn.utils.clip_grad_norm_(model.parameters(), config.max_grad_norm)
    optimizer.step()
    return value


def imitation_loss(model: PreTrainedModel, batch: Sequence[TokenStream]) -> Tensor:
    """Return the mean negative log-likelihood of the agent tokens of a batch, in nats."""
    # Padding stands on the right, where causal attention never looks: no mask is needed.
    ids_BT = _padded([stream.ids for stream in batch], model.device)
    acts_BT = _padded([stream.action_mask for stream in batch], model.device).bool()
    before_BT = acts_BT[:, 1:]
    body = cast("Any", model)
    if type(model) in FAMILY:
        # Most tokens are not the agent's: their logits, the largest tensor by far, are not made.
        states_BTH = body.model(input_ids=ids_BT[:, :-1], use_cache=False).last_hidden_state
        logits_AV = body.lm_head(states_BTH[before_BT])
    else:
        logits_AV = body(input_ids=ids_BT[:, :-1], use_cache=False).logits[before_BT]
    return F.cross_entropy(logits_AV.float(), ids_BT[acts_BT])


def _padded(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    padded = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = torch.tensor(row)
    return padded.to(device)
