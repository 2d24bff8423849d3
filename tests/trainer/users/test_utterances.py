"""Private thought never reaches the agent, whatever form a model gives it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.users.stopping import split_marker
from trainer.users.strategy import Strategy, read_strategy
from trainer.users.utterance import read_utterance, strip_private, trim


def test_a_role_play_line_loses_its_name_and_its_inner_thought() -> None:
    line = "Ann: [threshold is 200] (nods) Around two hundred."
    assert strip_private(line) == "(nods) Around two hundred."
    said = read_utterance(line)
    assert said.text == "(nods) Around two hundred."
    assert said.thought == "threshold is 200"


@pytest.mark.parametrize(
    "raw",
    [
        "<think>SECRET</think>Fine.",
        "<THINK>SECRET</THINK> Fine.",
        "SECRET</think>Fine.",
        "Fine.<think>SECRET",
        "[SECRET]Fine.",
        "[a [SECRET] b] Fine.",
        "SECRET] Fine.",
        "Fine. [SECRET",
        "Ann Lee: Fine.",
        "**Ann:** [SECRET] Fine.",
        "Fine.\nAgent: What else?\nUser: SECRET",
        '{"thought": "SECRET", "strategy": "confirm", "message": "Fine."}',
        '```json\n{"thought": "SECRET", "message": "Fine."}\n```',
        'Sure! {"thought": "SECRET {x}", "message": "Fine."} Done.',
        '{"thought": "SECRET", "message": "Fine.", "strategy": "conf',
        '{"thought": "SECRET", "message": "[SECRET] Fine."}',
        '{"thought": "a \\" SECRET }", "message": "Fine."}',
        "<thought>SECRET</thought><strategy>confirm</strategy><message>Fine.</message>",
        "<thought>SECRET</thought><message>Fine.",
        "<reasoning>SECRET</reasoning>\n\nFine.",
    ],
)
def test_only_what_is_said_aloud_is_left(raw: str) -> None:
    assert read_utterance(raw).text == "Fine."


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "   ",
        "[SECRET]",
        "<think>SECRET",
        '{"thought": "SECRET"}',
        '{"thought": "SECRET", "message": ""}',
        '{"thought": "SECRET", "message": {"text": "x"}}',
        '{"thought": "SECRET", "mess',
        '"thought": "SECRET"',
        "{" * 10_000,
        "<think>" * 5_000,
    ],
)
def test_an_output_without_a_readable_message_has_no_text(raw: str) -> None:
    said = read_utterance(raw)
    assert said.text == ""
    assert said.strategy is Strategy.INVALID


@pytest.mark.parametrize(
    ("label", "strategy"),
    [
        ("confirm", Strategy.CONFIRM),
        ("Reveal-Piece", Strategy.REVEAL_PIECE),
        (" ask clarification ", Strategy.ASK_CLARIFICATION),
        ("flatter", Strategy.INVALID),
        (None, Strategy.INVALID),
        (["confirm"], Strategy.INVALID),
    ],
)
def test_a_label_is_read_leniently_and_an_unknown_one_is_invalid(
    label: object, strategy: Strategy
) -> None:
    assert read_strategy(label) is strategy
    output = json.dumps({"strategy": label, "message": "Fine."})
    assert read_utterance(output).strategy is strategy


@pytest.mark.parametrize(
    ("raw", "text", "marker", "strategy"),
    [
        ("Thanks, order 123 ###STOP###", "Thanks, order 123", "stop", Strategy.CLOSE),
        ("###STOP###", "", "stop", Strategy.CLOSE),
        ("###TRANSFER### please", "please", "transfer", Strategy.INVALID),
        ("###OUT-OF-SCOPE###", "", "out_of_scope", Strategy.INVALID),
        ("<think>###STOP###</think>Go on.", "Go on.", None, Strategy.INVALID),
        ("[I could ###STOP###] Go on.", "Go on.", None, Strategy.INVALID),
        ('{"message": "Bye ###stop###", "strategy": "confirm"}', "Bye", "stop", Strategy.CLOSE),
    ],
)
def test_a_stop_marker_ends_only_where_it_is_said_aloud_and_text_beside_it_is_kept(
    raw: str, text: str, marker: str | None, strategy: Strategy
) -> None:
    said = read_utterance(raw)
    assert (said.text, said.marker, said.strategy) == (text, marker, strategy)


def test_a_word_of_the_task_is_no_speakers_name() -> None:
    assert read_utterance("Budget: 200", known_words={"budget"}).text == "Budget: 200"
    assert read_utterance("Budget: 200").text == "200"


def test_a_lone_surrogate_is_replaced() -> None:
    assert read_utterance('{"message": "a\\ud83d b"}').text == "a? b"


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (100, "One two. Three four! Five."),
        (25, "One two. Three four!"),
        (8, "One two."),
        (7, "One"),
        (6, "One"),
        (2, "On"),
    ],
)
def test_a_long_text_is_cut_at_a_sentence_else_at_a_word(limit: int, text: str) -> None:
    assert trim("One two. Three four! Five.", limit) == text


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_nothing_between_think_tags_is_ever_said(before: str, secret: str, after: str) -> None:
    secret = f"\u2603{secret}\u2603"
    said = read_utterance(f"{before}<think>{secret}</think>{after}")
    assert "\u2603" not in said.text


@given(st.text(max_size=200))
def test_any_output_is_taken_apart(raw: str) -> None:
    said = read_utterance(raw)
    assert said.text == said.text.strip()
    assert split_marker(said.text).marker is None
