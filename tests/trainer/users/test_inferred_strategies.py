"""A strategy read from words alone is the user's own label, or none at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.rollout.reaction import POLARITY
from trainer.users import rule_file
from trainer.users.inferred import infer_strategy
from trainer.users.strategy import Strategy

WORLDS = Path(rule_file.__file__).parents[1] / "worlds"


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ("Yes, that is right.", Strategy.CONFIRM),
        ("Sounds good, thanks!", Strategy.CONFIRM),
        ("Okay, go ahead.", Strategy.CONFIRM),
        ("That is all, goodbye.", Strategy.CLOSE),
        ("Thank you, nothing else.", Strategy.CLOSE),
        ("No, I did not ask for a window seat.", Strategy.CHALLENGE_SOLUTION),
        ("No. Why would I want that?", Strategy.CHALLENGE_SOLUTION),
        ("That's not what I meant.", Strategy.CHALLENGE_SOLUTION),
        ("What do you mean by that?", Strategy.ASK_CLARIFICATION),
        ("Could you be more specific", Strategy.ASK_CLARIFICATION),
        ("I'm not sure, whatever you like.", Strategy.BE_VAGUE),
        ("No preference.", Strategy.BE_VAGUE),
        ("Sorry, I don’t remember.", Strategy.BE_VAGUE),
        ("Actually, let us go to Rome instead.", Strategy.CHANGE_MIND),
        ("I changed my mind about the hotel.", Strategy.CHANGE_MIND),
        ("The train leaves at noon.", Strategy.INVALID),
        ("", Strategy.INVALID),
    ],
)
def test_plain_words_show_what_they_do(text: str, strategy: Strategy) -> None:
    assert infer_strategy(text) is strategy


def test_a_disclosed_fact_reveals_a_piece_whatever_else_is_said() -> None:
    assert infer_strategy("No, wait. A room with a bath.", revealed=("r1",)) is (
        Strategy.REVEAL_PIECE
    )


def test_stop_markers_close_and_transfers_say_nothing() -> None:
    assert infer_strategy("Thanks. ###STOP###") is Strategy.CLOSE
    assert infer_strategy("###TRANSFER###") is Strategy.INVALID
    assert infer_strategy("Yes ###OUT-OF-SCOPE###", revealed=("r1",)) is Strategy.INVALID


@pytest.mark.parametrize("world", ["travel", "intention"])
def test_the_symbolic_users_words_mostly_show_their_label_and_never_its_opposite(
    world: str,
) -> None:
    rules = rule_file.load(WORLDS / world / "user.yaml").rules
    said = [
        (text, rule.strategy)
        for rule in rules
        for variant in rule.say
        if "{" not in (text := variant.fill({"kind": "price", "facts": ""})) and text.strip()
    ]
    said = [entry for entry in said if entry[1] is not Strategy.REVEAL_PIECE]
    assert len(said) >= 8
    inferred = [infer_strategy(text) for text, _ in said]
    pairs = list(zip(inferred, said, strict=True))
    assert all(POLARITY[found] * POLARITY[label] >= 0 for found, (_, label) in pairs)
    assert sum(found is label for found, (_, label) in pairs) / len(said) >= 0.6


@given(st.text(max_size=200))
def test_any_words_have_an_answer(text: str) -> None:
    assert isinstance(infer_strategy(text), Strategy)
    assert infer_strategy(text * 50) in Strategy
