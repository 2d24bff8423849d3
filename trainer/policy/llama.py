"""A hand-written forward pass for the Llama family, two to three times faster than the model's own.

Llama (SmolLM2 among them), Qwen2 and Qwen3: root-mean-square norms, rotary positions, grouped
queries, gated feed-forward. Rows of one token each, the decoding loop, take no padding and no
copy. Its numbers are checked against the transformers model when the sampler is made. It knows
weights and positions, nothing of dialogues.

Dimensions: N packed tokens, R rows, T tokens of the longest, H query heads, K key/value heads,
G = H / K, D size of a head, L visible columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlamaForCausalLM, PreTrainedModel, Qwen2ForCausalLM, Qwen3ForCausalLM

from trainer.policy.cache import CacheShape, KeyValueCache
from trainer.policy.decoder import Reading
from trainer.policy.lora import LowRank, low_rank

FAMILY = (LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM)

_STATIC_ROPE = ("default", "linear", "llama3", "yarn")
"""Rotary variants whose angles do not depend on how long the dialogue has become."""


JOIN_UP_TO = 1024
"""Hidden size up to which projections of one input are joined into one matrix: a copy, which
saves a third of a small model's time and nothing of a large one's."""


class Projection(NamedTuple):
    """An affine map."""

    weight: Tensor
    bias: Tensor | None
    added: LowRank | None = None
    """What an adapter adds; kept apart, so that it is rounded as the learner rounds it."""


@dataclass(frozen=True)
class Layer:
    """The weights of one block."""

    attention_norm: Tensor
    qkv: tuple[Projection, ...]
    """One joined map, or three whose outputs are joined."""
    qk_norm: Tensor | None
    """[H + K, D], or None for a family without norms on queries and keys."""
    output: tuple[Projection, ...]
    mlp_norm: Tensor
    gate_up: tuple[Projection, ...]
    down: tuple[Projection, ...]


def in_family(model: PreTrainedModel, max_tokens: int) -> bool:
    """True when the hand-written pass computes what this model computes, up to `max_tokens`."""
    config = cast("Any", model.config)
    sliding = getattr(config, "sliding_window", None)
    return (
        type(model) in FAMILY
        and config.hidden_act == "silu"
        and (sliding is None or sliding >= max_tokens)
        and config.rope_parameters.get("rope_type", "default") in _STATIC_ROPE
    )


class LlamaDecoder:
    """The forward pass over a shared model's weights.

    Args:
        model: A model of the family (see `in_family`); the learner may go on changing it.
        max_tokens: Positions to prepare for.
        dtype: Type to compute in; the model's own unless given.
    """

    def __init__(
        self, model: PreTrainedModel, *, max_tokens: int, dtype: torch.dtype | None = None
    ) -> None:
        config = cast("Any", model.config)
        self._model = cast("Any", model)
        self._dtype = dtype or model.dtype
        self._heads = int(config.num_attention_heads)
        self._kv_heads = int(config.num_key_value_heads)
        self._eps = float(config.rms_norm_eps)
        self._layers: list[Layer] = []
        self.vocab_size = int(config.vocab_size)
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // self._heads
        self.shape = CacheShape(
            config.num_hidden_layers, self._kv_heads, int(head_dim), self._dtype, model.device
        )
        self._cos, self._sin = self._rotation(max_tokens)
        self.refresh()

    @torch.no_grad()
    def refresh(self) -> None:
        """Copy the model's present weights into joined matrices."""
        body = self._model.model
        self._embedding = self._cast(body.embed_tokens.weight)
        self._norm = self._cast(body.norm.weight)
        # A cast makes a copy; two of a tied matrix would be half a small model.
        tied = self._model.lm_head.weight is body.embed_tokens.weight
        self._head = self._embedding if tied else self._cast(self._model.lm_head.weight)
        self._layers = [self._layer(block) for block in body.layers]

    def forward(self, cache: KeyValueCache, reading: Reading) -> Tensor:
        """Read the tokens into the cache and return the logits [R, V] after each row's last."""
        heads, both = self._heads, self._heads + self._kv_heads
        cos, sin = self._cos[reading.positions], self._sin[reading.positions]
        x = F.embedding(reading.tokens, self._embedding)
        for index, layer in enumerate(self._layers):
            qkv = _project(self._rms(x, layer.attention_norm), layer.qkv)
            qkv = qkv.view(len(x), both + self._kv_heads, self.shape.head_dim)
            turned = qkv[:, :both]
            if layer.qk_norm is not None:
                turned = F.rms_norm(turned, turned.shape[-1:], None, self._eps) * layer.qk_norm
            # x cos + rotate_half(x) sin; the sign of the rotation is in the table.
            half = turned.roll(self.shape.head_dim // 2, -1)
            turned = torch.addcmul(turned * cos, half, sin)
            # Written before they are read: a token sees itself.
            cache.write(index, reading.rows, reading.positions, turned[:, heads:], qkv[:, both:])
            keys, values = cache.read(index, reading.cache_rows, reading.width)
            mixed = _attend(turned[:, :heads], keys, values, reading)
            x = x + _project(mixed, layer.output)
            gate, up = _project(self._rms(x, layer.mlp_norm), layer.gate_up).chunk(2, -1)
            x = x + _project(F.silu(gate) * up, layer.down)
        return F.linear(self._rms(x[reading.last], self._norm), self._head)

    def _rms(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, weight.shape, weight, self._eps)

    def _layer(self, block: Any) -> Layer:
        attention, mlp = block.self_attn, block.mlp
        qk_norm = None
        if hasattr(attention, "q_norm"):
            shape = (-1, self.shape.head_dim)
            # One row for each head, so that one product serves queries and keys.
            query, key = attention.q_norm.weight, attention.k_norm.weight
            parts = (query.expand(self._heads, -1), key.expand(self._kv_heads, -1))
            qk_norm = self._cast(torch.cat(parts).reshape(shape))
        return Layer(
            attention_norm=self._cast(block.input_layernorm.weight),
            qkv=self._maps(attention.q_proj, attention.k_proj, attention.v_proj),
            qk_norm=qk_norm,
            output=self._maps(attention.o_proj),
            mlp_norm=self._cast(block.post_attention_layernorm.weight),
            gate_up=self._maps(mlp.gate_proj, mlp.up_proj),
            down=self._maps(mlp.down_proj),
        )

    def _maps(self, *parts: nn.Linear) -> tuple[Projection, ...]:
        bias = parts[0].bias is not None
        if len(parts) == 1 or self._model.config.hidden_size > JOIN_UP_TO:
            return tuple(
                Projection(
                    self._cast(part.weight),
                    self._cast(part.bias) if bias else None,
                    self._added(part),
                )
                for part in parts
            )
        weight = self._cast(torch.cat([part.weight for part in parts]))
        biases = self._cast(torch.cat([part.bias for part in parts])) if bias else None
        return (Projection(weight, biases, self._added(*parts)),)

    def _added(self, *parts: nn.Module) -> LowRank | None:
        """Return what the adapters of maps that are joined add to all of them."""
        found = [(part, low_rank(part)) for part in parts]
        there = [one for _, one in found if one is not None]
        if not there:
            return None
        dtype = torch.promote_types(self._dtype, there[0].down_RI.dtype)
        ups = [
            one.up_OR if one else there[0].up_OR.new_zeros(cast("Any", part).out_features, 0)
            for part, one in found
        ]
        down_RI = torch.cat([one.down_RI for one in there]).detach().to(dtype)
        return LowRank(down_RI, torch.block_diag(*ups).detach().to(dtype))

    def _cast(self, weight: Tensor) -> Tensor:
        return weight.detach().to(self._dtype)

    @torch.no_grad()
    def _rotation(self, max_tokens: int) -> tuple[Tensor, Tensor]:
        """Return the tables [positions, 1, D] of cosines and signed sines."""
        device = self.shape.device
        positions = torch.arange(max_tokens, device=device)[None]
        probe = torch.zeros(1, dtype=torch.float32, device=device)
        cos, sin = self._model.model.rotary_emb(probe, positions)
        sign = torch.ones(self.shape.head_dim, device=device)
        sign[: self.shape.head_dim // 2] = -1
        return self._cast(cos[0, :, None]), self._cast((sin * sign)[0, :, None])


def _project(x: Tensor, maps: tuple[Projection, ...]) -> Tensor:
    if len(maps) == 1:
        return _mapped(x, maps[0])
    return torch.cat([_mapped(x, part) for part in maps], -1)


def _mapped(x: Tensor, part: Projection) -> Tensor:
    mapped = F.linear(x, part.weight, part.bias)
    if part.added is None:
        return mapped
    down_RI, up_OR = part.added
    return (mapped + F.linear(F.linear(x.to(down_RI.dtype), down_RI), up_OR)).to(mapped.dtype)


def _attend(query: Tensor, keys: Tensor, values: Tensor, reading: Reading) -> Tensor:
    """Return the mixed values [N, H * D] for queries [N, H, D] over keys [R, K, L, D]."""
    tokens, heads, size = query.shape
    kv_heads = keys.shape[1]
    if reading.one_each:
        # The G queries that share a key head stand where a sequence would: no key is repeated.
        grouped = query.view(tokens, kv_heads, heads // kv_heads, size)
        mask = reading.mask.expand(-1, -1, heads // kv_heads, -1)
        mixed = F.scaled_dot_product_attention(grouped, keys, values, attn_mask=mask)
        return mixed.reshape(tokens, heads * size)
    rows, _, most, _ = reading.mask.shape
    padded = query.new_zeros(rows, most, heads, size)
    padded[reading.within, reading.offsets] = query
    mixed = F.scaled_dot_product_attention(
        padded.transpose(1, 2), keys, values, attn_mask=reading.mask, enable_gqa=True
    )
    return mixed.transpose(1, 2)[reading.within, reading.offsets].reshape(tokens, heads * size)
