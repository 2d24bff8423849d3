"""A user's private label becomes a reaction to the segment that the reply ended."""

from __future__ import annotations

from typing import Any

import pytest

from trainer.episode import Speaker, Turn, Voice
from trainer.rollout.reaction import POLARITY, reaction, reactions
from trainer.trajectory import Reaction
from trainer.users.strategy import Strategy


def user(text: str = "Fine.", revealed: tuple[str, ...] = (), **private: Any) -> Turn:
    return Turn(Speaker.USER, text, 0, voice=Voice.LLM, revealed=revealed, private=private)


AGENT, TOOL = Turn(Speaker.AGENT, "[action] So?", 0), Turn(Speaker.TOOL, "3 rooms", 0)


def test_every_label_has_the_worth_of_table_1() -> None:
    assert set(POLARITY) == set(Strategy)
    by_worth = {worth: {s.value for s in Strategy if POLARITY[s] == worth} for worth in (1, 0, -1)}
    assert by_worth == {
        1: {"confirm", "close", "reveal_piece"},
        0: {"be_vague", "invalid"},
        -1: {"ask_clarification", "challenge_solution", "change_mind"},
    }


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("confirm", Reaction(1)),
        ("Ask-Clarification", Reaction(-1)),
        ("be vague", Reaction(0)),
        ("invalid", Reaction(0, valid=False)),
        ("applaud", Reaction(0, valid=False)),
        (None, Reaction(0, valid=False)),
        (3, Reaction(0, valid=False)),
    ],
)
def test_a_label_is_read_leniently_and_never_guessed(label: object, expected: Reaction) -> None:
    # The words say yes; a label that is there and unusable must not be mended from them.
    assert reaction(user("Yes, right.", strategy=label)) == expected


def test_words_are_read_where_there_is_no_label() -> None:
    assert reaction(user("No, that is wrong.")) == Reaction(-1)
    assert reaction(user("Blue.", revealed=("f1",))) == Reaction(1)
    assert reaction(user("Blue.")) == Reaction(0, valid=False)


def test_a_reply_belongs_to_the_segment_before_it_and_the_opening_to_none() -> None:
    turns = [
        Turn(Speaker.SYSTEM, "Help.", 0),
        Turn(Speaker.USER, "I want to travel.", 0),
        AGENT,
        TOOL,
        AGENT,
        user(strategy="reveal_piece"),
        AGENT,
        user(strategy="challenge_solution"),
        AGENT,
    ]
    assert reactions(turns) == (Reaction(1), Reaction(-1))
    assert reactions(turns[:4]) == ()
