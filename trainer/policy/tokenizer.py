"""A tokenizer trained in seconds: byte-level BPE, and one special token for each role.

Any text can be encoded, the same texts give the same tokenizer, and it saves and loads like any
other. It is for policies made from nothing; a pretrained model brings its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

NUM_BYTES = 256


@dataclass(frozen=True)
class Markup:
    """The special tokens around messages, and the template that sets them."""

    pad: str
    end: str
    """Closes a message; the policy samples it to end its turn."""
    others: tuple[str, ...]
    template: str

    @property
    def tokens(self) -> tuple[str, ...]:
        """All special tokens; their places are their ids."""
        return (self.pad, self.end, *self.others)


# ChatML spends five tokens around every message, this two: short turns are most of what a small
# model reads, and what it has to copy stands nearer.
COMPACT = Markup(
    "<|endoftext|>",
    "<|end|>",
    ("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"),
    "{%- for message in messages -%}"
    "{{ '<|' + message.role + '|>' + message.content + '<|end|>' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- endif -%}",
)
"""One token opens a message and says whose it is, one closes it."""

CHATML = Markup(
    "<|endoftext|>",
    "<|im_end|>",
    ("<|im_start|>",),
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}",
)
"""What most pretrained models were taught."""


def train_tokenizer(
    texts: Iterable[str],
    *,
    vocab_size: int = 768,
    max_length: int = 2048,
    markup: Markup = COMPACT,
) -> PreTrainedTokenizerFast:
    """Return a tokenizer whose merges are the commonest of these texts.

    Args:
        texts: What the policy will read and write.
        vocab_size: Number of tokens at most, special tokens and the 256 bytes included.
        max_length: Tokens the model can read, told to whoever asks the tokenizer.
        markup: What stands around messages.

    Raises:
        ValueError: if the vocabulary cannot hold every byte.
    """
    smallest = NUM_BYTES + len(markup.tokens)
    if vocab_size < smallest:
        raise ValueError(
            f"vocab_size {vocab_size} cannot hold {NUM_BYTES} bytes and {len(markup.tokens)} "
            f"special tokens; it must be at least {smallest}"
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
        special_tokens=list(markup.tokens),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=markup.pad,
        eos_token=markup.end,
        additional_special_tokens=list(markup.others),
        chat_template=markup.template,
        model_max_length=max_length,
    )
