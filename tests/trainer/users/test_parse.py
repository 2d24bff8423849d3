"""A message reads the same way every time: what it does, and which facts it asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.users.dialogue import QUESTIONS, TASK
from trainer.task import Fact, Task
from trainer.users.cues import CueTables, build_table, words_of
from trainer.users.parse import Act, compile_phrases, parse

TABLE = build_table(TASK)


@pytest.mark.parametrize(
    ("message", "act"),
    [
        ("Which room do you want?", Act.ASK),
        ("hotel room?", Act.ASK),
        ("Tell me about the seat.", Act.ASK),
        ("Please describe the area", Act.ASK),
        ("I recommend F8 for you.", Act.ANSWER),
        ("[answer] F8", Act.ANSWER),
        ("I recommend F8. Would that suit you?", Act.BOTH),
        ("Here is a plan. Which seat do you prefer?", Act.BOTH),
        ("[search] hotel", Act.TOOL),
        ('<tool_call>{"name": "book"}</tool_call>', Act.TOOL),
        ("Hello there.", Act.OTHER),
        ("I know what you mean.", Act.OTHER),
        ("", Act.OTHER),
    ],
)
def test_a_message_is_read_as_what_it_does(message: str, act: Act) -> None:
    assert parse(message, TABLE).act is act


def test_a_message_that_asks_and_answers_counts_as_a_question() -> None:
    assert Act.BOTH.asks and Act.BOTH.answers


def test_the_agents_stop_marker_means_nothing() -> None:
    assert parse("Which room? ###STOP###", TABLE) == parse("Which room?", TABLE)


@pytest.mark.parametrize(("fact_id", "question"), QUESTIONS.items())
def test_a_question_hits_its_fact_first_and_fully(fact_id: str, question: str) -> None:
    best, *others = parse(question, TABLE).matches
    assert TASK.facts[best.index].id == fact_id
    assert best.score == pytest.approx(1.0)
    assert all(match.score < 0.6 for match in others)


@pytest.mark.parametrize(
    "question",
    [
        "What do you prefer?",
        "Tell me about your hotel.",
        "Which flight and which hotel do you want?",
        "How is the weather?",
        "?",
    ],
)
def test_a_general_question_hits_nothing(question: str) -> None:
    assert all(match.score < 0.6 for match in parse(question, TABLE).matches)


def test_a_guess_at_the_fact_itself_is_a_question_about_it() -> None:
    best = parse("Do you want the aisle seat?", TABLE).matches[0]
    assert TASK.facts[best.index].id == "P4"


def test_a_misspelt_cue_is_recognised_and_another_word_is_not() -> None:
    table = build_table(
        Task("t", "toy", "g", "o", (Fact("P1", "x.breakfast", "buffet", "s", ("breakfast",)),))
    )
    assert table.match(words_of("any breakfest?"))[0].score == pytest.approx(1.0)
    assert table.match(words_of("any fast break?")) == []


def test_naming_another_topic_halves_a_match() -> None:
    facts = (
        Fact("P1", "hotel.price", "a", "s", ("price",)),
        Fact("P2", "flight.price", "b", "s", ("price",)),
    )
    matches = build_table(Task("t", "toy", "g", "o", facts)).match(words_of("flight price?"))
    assert [match.index for match in matches] == [1, 0]
    assert matches[0].score == pytest.approx(1.0)
    assert matches[1].score == pytest.approx(0.5)


def test_a_cue_made_of_small_words_still_counts() -> None:
    facts = (Fact("P1", "cost", "two hundred", "s", ("how much",)),)
    table = build_table(Task("t", "toy", "g", "o", facts))
    assert table.match(words_of("How much would it be?"))[0].score == pytest.approx(1.0)


def test_a_changed_task_under_an_old_id_gets_a_new_table() -> None:
    tables = CueTables(capacity=2)
    first = tables.table(TASK)
    changed = Task(TASK.id, TASK.world, TASK.goal, TASK.opening, TASK.facts[:1])
    assert tables.table(TASK) is first
    assert len(tables.table(changed).topics) == 1


def test_a_world_may_add_phrases() -> None:
    phrases = compile_phrases(ask=["I wonder about"])
    assert parse("I wonder about the room", TABLE).act is Act.OTHER
    assert parse("I wonder about the room", TABLE, phrases).act is Act.ASK


@given(st.text(max_size=300))
def test_any_text_is_read_with_scores_between_zero_and_one(message: str) -> None:
    parsed = parse(message, TABLE)
    assert all(0.0 < match.score <= 1.0 for match in parsed.matches)
    assert list(parsed.matches) == sorted(
        parsed.matches, key=lambda m: (-m.score, -m.evidence, m.index)
    )
    assert parse(message, TABLE) == parsed
