"""A tokenizer trained in seconds: byte-level BPE with ChatML's special tokens.

Any text can be encoded, the same texts give the same tokenizer, and it saves and loads like any
other. It is for policies made from nothing; a pretrained model brings its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"

CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}"
)
"""ChatML with the roles system, user, assistant and tool."""

MIN_VOCAB_SIZE = 256 + 3
"""Every byte and the three special tokens."""


def train_tokenizer(
    texts: Iterable[str], *, vocab_size: int = 768, max_length: int = 2048
) -> PreTrainedTokenizerFast:
    """Return a tokenizer whose merges are the commonest of these texts.

    Args:
        texts: What the policy will read and write.
        vocab_size: Number of tokens at most, special tokens and the 256 bytes included.
        max_length: Tokens the model can read, told to whoever asks the tokenizer.

    Raises:
        ValueError: if the vocabulary cannot hold every byte.
    """
    if vocab_size < MIN_VOCAB_SIZE:
        raise ValueError(
            f"vocab_size {vocab_size} cannot hold 256 bytes and 3 special tokens; "
            f"it must be at least {MIN_VOCAB_SIZE}"
        )
    tokenizer = Tokenizer(models.BPE())
    # Single digits: a small model copies numbers it has not seen only if it can spell them.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[PAD, START, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    # The role names open every message, so they are worth a token each.
    tokenizer.train_from_iterator([*texts, *["system\nuser\nassistant\ntool\n"] * 100], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[START],
        chat_template=CHAT_TEMPLATE,
        model_max_length=max_length,
    )
