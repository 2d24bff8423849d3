"""A judge's words are an answer in the form that was asked for, or a reason why they are none."""

from __future__ import annotations

import json

import pytest

from tests.trainer.judges.scripted import STATEMENT, STORY, reply
from trainer.judges.prompt import code_of
from trainer.judges.reading import MAX_CHARS, Unreadable, read_answer
from trainer.question import Question

CODE = code_of(STORY)


def refused(text: str, question: Question = STORY) -> str:
    found = read_answer(text, question)
    assert isinstance(found, Unreadable), found
    return found.reason


def test_scores_and_words_of_yes_and_no_become_numbers_in_order() -> None:
    assert read_answer(reply(STORY, [1, 0.5]), STORY) == (1.0, 0.5)
    assert read_answer(reply(STORY, [0, 0.0]), STORY) == (0.0, 0.0)
    assert read_answer(reply(STATEMENT, [True]), STATEMENT) == (1.0,)
    assert read_answer(reply(STATEMENT, [False]), STATEMENT) == (0.0,)


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "\n  {}  \n"])
def test_one_code_fence_around_the_whole_is_taken_off(fence: str) -> None:
    assert read_answer(fence.replace("{}", reply(STORY, [1, 1])), STORY) == (1.0, 1.0)


def test_true_false_and_null_are_json_and_not_python() -> None:
    # A parser of Python literals breaks on each of these three.
    assert read_answer(reply(STATEMENT, [True], reasons=None), STATEMENT) == (1.0,)
    assert "is not one JSON object" in refused(f"{{'question': '{CODE}', 'answers': [1, 1]}}")


@pytest.mark.parametrize("answers", [[1], [1, 1, 1], []])
def test_another_number_of_scores_than_of_criteria_is_no_answer(answers: list[int]) -> None:
    assert refused(reply(STORY, answers)) == (
        f"has {len(answers)} answers and the question 2 criteria"
    )


@pytest.mark.parametrize("value", [0.7, 2, -1, True, "1", None, [1], 10**400])
def test_a_score_that_is_not_allowed_is_no_answer(value: object) -> None:
    assert refused(reply(STORY, [1, value])) == "has an answer that is none of 0, 0.5, 1"


@pytest.mark.parametrize("value", [1, 0, "yes", "true", None])
def test_yes_and_no_are_said_as_json_says_them(value: object) -> None:
    assert refused(reply(STATEMENT, [value]), STATEMENT) == (
        "has an answer that is none of true or false"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is not one JSON object"),
        ("Sure! " + reply(STORY, [1, 1]), "is not one JSON object"),
        (reply(STORY, [1, 1]) + reply(STORY, [0, 0]), "is not one JSON object"),
        (f"```\n{reply(STORY, [1, 1])}\n```\nDone.", "is not one JSON object"),
        ("[1, 1]", "is not a JSON object"),
        ('{"answers": [1, 1]}', "does not repeat the code"),
        (reply(STATEMENT, [1, 1]), "does not repeat the code"),
        (reply(STORY, [1, 1], score=1), "has a field beside"),
        (reply(STORY, {"a": 1}), "has no list"),
        (f'{{"question": "{CODE}", "answers": [0, 0], "answers": [1, 1]}}', "same field twice"),
        (f'{{"question": "{CODE}", "answers": [NaN, 1]}}', "NaN, which is no JSON number"),
        ("[" * 20_000, "is not one JSON object"),
        ("1" * 10_000, "is not"),
        (" " * (MAX_CHARS + 1), "characters; at most"),
    ],
)
def test_everything_else_is_refused_with_its_reason(text: str, told: str) -> None:
    assert told in refused(text)


def test_a_reason_holds_nothing_of_the_words() -> None:
    words = json.dumps({"question": "SECRET", "SECRET": "SECRET", "answers": ["SECRET"]})
    assert "SECRET" not in refused(words)
