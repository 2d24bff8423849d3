"""Dialogues of a fixed layout for measurements: forced lengths, random observations, no words.

Every turn writes exactly its number of tokens, since no token ends it, so two programs can be
given the same work. This module measures nothing.

Dimensions: B dialogues, T tokens of one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import torch
from transformers import Qwen3ForCausalLM

from trainer import recipe_file, seeds
from trainer.episode import StopReason
from trainer.policy.build import small_qwen3
from trainer.policy.local import LocalSampler
from trainer.policy.sampler import SampleRequest
from trainer.trajectory import TokenStream, Trajectory


@dataclass(frozen=True)
class Layout:
    """The lengths of a batch of equal dialogues, in tokens."""

    dialogues: int
    prompt: int
    reply: int
    """What the policy writes in a turn."""
    turns: int
    observation: int = 0
    """What it reads between two turns."""

    @property
    def tokens(self) -> int:
        """Tokens of one dialogue."""
        return self.prompt + self.turns * self.reply + (self.turns - 1) * self.observation

    @property
    def written(self) -> int:
        """Tokens that the policy writes in the whole batch."""
        return self.dialogues * self.turns * self.reply

    def length_before(self, turn: int) -> int:
        """Return the tokens that stand before a turn, counted from 0."""
        return self.prompt + turn * (self.reply + self.observation)


def demo_model() -> Qwen3ForCausalLM:
    """Return a model of the size that the demo trains, with random weights and a longer context."""
    size = asdict(replace(recipe_file.load("demo", []).policy.size, max_positions=2048))
    return small_qwen3(size.pop("vocab_size"), seed=0, **size)


def sampler_for(model: Qwen3ForCausalLM, layout: Layout) -> LocalSampler:
    """Return a sampler that no token can stop."""
    return LocalSampler(model, (), max_dialogues=layout.dialogues, max_tokens=layout.tokens)


def play(sampler: LocalSampler, layout: Layout, *, vocab_size: int, seed: int) -> list[Trajectory]:
    """Play the dialogues in one batch; every one is paid 0 or 1 for its end.

    Args:
        sampler: Made by `sampler_for`.
        layout: Lengths.
        vocab_size: Tokens to draw prompts and observations from.
        seed: Decides what is read, and what is sampled.
    """
    chance = torch.Generator().manual_seed(seed)
    read = torch.randint(vocab_size, (layout.dialogues, layout.tokens), generator=chance).tolist()
    streams = [TokenStream() for _ in range(layout.dialogues)]
    keys = [str(number) for number in range(layout.dialogues)]
    seen = 0
    for turn in range(layout.turns):
        new = layout.observation if turn else layout.prompt
        for stream, ids in zip(streams, read, strict=True):
            stream.observe(ids[seen : seen + new], starts_segment=True)
        seen += new
        requests = [
            SampleRequest(key, stream.ids, layout.reply, seeds.derive(seed, key, turn))
            for key, stream in zip(keys, streams, strict=True)
        ]
        for stream, one in zip(streams, sampler.sample(requests, temperature=1.0), strict=True):
            stream.act(len(stream.ids), one.ids, one.logprobs)
    sampler.release(keys)
    return [
        _trajectory(key, stream, sampler.policy_version, paid=seeds.uniform(seed, key) < 0.5)
        for key, stream in zip(keys, streams, strict=True)
    ]


def _trajectory(key: str, stream: TokenStream, version: int, *, paid: bool) -> Trajectory:
    rewards = [0.0] * len(stream.ids)
    rewards[-1] = float(paid)
    return Trajectory(
        ids=tuple(stream.ids),
        action_mask=tuple(stream.action_mask),
        turn_ids=tuple(stream.turn_ids),
        segment_ids=tuple(stream.segment_ids),
        rollout_logprobs=tuple(stream.rollout_logprobs),
        rewards=tuple(rewards),
        stop=StopReason.SOLVED if paid else StopReason.FAILED,
        episode_id=key,
        task_id="bench",
        group_id=key,
        arm="symbolic",
        revision=0,
        policy_version=version,
    )
