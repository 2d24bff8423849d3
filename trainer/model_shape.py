"""The shape of a decoder: how many numbers it holds, and what a token of it costs to keep.

Everything follows from the few sizes that a model's config.json states; no weight is read and
nothing is loaded. What the numbers are stored in, and where, is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class ModelShape:
    """Sizes of a decoder with grouped-query attention and a gated feed-forward part."""

    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    tied: bool
    """Whether the language-model head is the embedding."""
    attention_bias: bool = False
    """Biases of query, key and value, as in Qwen2."""
    head_norms: bool = False
    """A norm over each query and key head, as in Qwen3."""

    @property
    def embedding(self) -> int:
        """Numbers of the embedding, and of the head where it is not tied."""
        return self.vocab * self.hidden

    @property
    def block(self) -> int:
        """Numbers of one block: attention, feed-forward part, norms."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = self.hidden * (2 * queries + 2 * keys)
        biases = (queries + 2 * keys) * self.attention_bias
        norms = 2 * self.hidden + 2 * self.head_dim * self.head_norms
        return attention + biases + 3 * self.hidden * self.ffn + norms

    @property
    def body(self) -> int:
        """Numbers without a language-model head: embedding, blocks, last norm."""
        return self.embedding + self.layers * self.block + self.hidden

    @property
    def parameters(self) -> int:
        """Numbers of the whole language model."""
        return self.body + (0 if self.tied else self.embedding)

    @property
    def critic(self) -> int:
        """Numbers of a critic with a body of its own and one value per token."""
        return self.body + self.hidden + 1

    @property
    def maps(self) -> dict[str, tuple[int, int]]:
        """Inputs and outputs of the linear maps of a block, by the names of their layers."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "q_proj": (self.hidden, queries),
            "k_proj": (self.hidden, keys),
            "v_proj": (self.hidden, keys),
            "o_proj": (queries, self.hidden),
            "gate_proj": (self.hidden, self.ffn),
            "up_proj": (self.hidden, self.ffn),
            "down_proj": (self.ffn, self.hidden),
        }

    def adapters(self, rank: int, targets: Sequence[str]) -> int:
        """Return the numbers of low-rank adapters on some maps of every block."""
        return self.layers * rank * sum(sum(self.maps[name]) for name in targets)

    @property
    def kept_per_token(self) -> int:
        """Numbers that the key/value cache keeps of a token."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    @property
    def block_activations(self) -> int:
        """Numbers that the backward pass of one block needs of a token.

        What enters its two norms and leaves them, queries and the attention's result, keys and
        values, and the four products of the gated part; attention weights are never stored whole.
        """
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return 4 * self.hidden + 2 * queries + 2 * keys + 4 * self.ffn


KNOWN: Mapping[str, ModelShape] = MappingProxyType(
    {
        "qwen3-4b": ModelShape(151_936, 2560, 36, 32, 8, 128, 9728, tied=True, head_norms=True),
        "qwen2.5-7b": ModelShape(
            152_064, 3584, 28, 28, 4, 128, 18_944, tied=False, attention_bias=True
        ),
    }
)
"""Shapes of the papers' models, for a plan before their weights are on the machine."""


def read(directory: Path) -> ModelShape | None:
    """Return the shape of the model in a directory, by its config.json.

    Args:
        directory: A Hugging Face model directory; it need not be there for a model that is known
            by name, such as `models/Qwen3-4B-Instruct`.

    Returns:
        None for a model that is neither there nor known, or of another architecture.
    """
    try:
        config = json.loads((directory / "config.json").read_bytes())
    except (OSError, ValueError):
        name = directory.name.lower()
        return next((shape for known, shape in KNOWN.items() if name.startswith(known)), None)
    return from_config(config) if isinstance(config, dict) else None


def from_config(config: Mapping[str, Any]) -> ModelShape | None:
    """Return the shape that the values of a config.json state; None if it lacks one of them."""
    kind = config.get("model_type")
    try:
        heads = int(config["num_attention_heads"])
        return ModelShape(
            vocab=int(config["vocab_size"]),
            hidden=int(config["hidden_size"]),
            layers=int(config["num_hidden_layers"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or int(config["hidden_size"]) // heads),
            ffn=int(config["intermediate_size"]),
            tied=bool(config.get("tie_word_embeddings", True)),
            attention_bias=kind == "qwen2" or bool(config.get("attention_bias", False)),
            head_norms=kind == "qwen3",
        )
    except (KeyError, TypeError, ValueError):
        return None
