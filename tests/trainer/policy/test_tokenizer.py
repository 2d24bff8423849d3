"""A trained tokenizer encodes anything, is the same every time, and survives a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from trainer.policy.tokenizer import CHATML, COMPACT, Markup, train_tokenizer

TEXTS = ["the hotel in the old town", "a room for two nights, 120 euros"] * 20


def test_the_same_texts_give_the_same_tokenizer() -> None:
    one, other = (train_tokenizer(TEXTS, vocab_size=300).backend_tokenizer for _ in range(2))
    assert one.to_str() == other.to_str()


@given(st.text(max_size=80))
def test_every_text_comes_back(small_tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    ids = small_tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert small_tokenizer.decode(ids) == text


def test_words_that_are_common_cost_few_tokens_and_digits_one_each() -> None:
    tokenizer = train_tokenizer(TEXTS, vocab_size=400)
    assert len(tokenizer.encode(" hotel", add_special_tokens=False)) == 1
    assert len(tokenizer.encode("120", add_special_tokens=False)) == 3
    assert len(tokenizer) <= 400


@pytest.mark.parametrize("markup", [COMPACT, CHATML])
def test_special_tokens_have_their_places(markup: Markup) -> None:
    tokenizer = train_tokenizer(TEXTS, vocab_size=300, markup=markup)
    places = tokenizer.convert_tokens_to_ids(list(markup.tokens))
    assert places == list(range(len(markup.tokens)))
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id) == (0, 1)


def test_it_saves_and_loads_with_its_template(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(TEXTS, vocab_size=300)
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
    assert again.chat_template == tokenizer.chat_template
    assert (again.pad_token_id, again.eos_token_id) == (0, 1)


def test_a_vocabulary_that_cannot_hold_every_byte_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 262"):
        train_tokenizer(TEXTS, vocab_size=261)
