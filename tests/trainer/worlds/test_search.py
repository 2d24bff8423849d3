"""The search world pays what SearchGym pays, searches its own documents, and says if none fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from trainer.episode import Speaker, StopReason
from trainer.message import read_action
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.seam import StepResult
from trainer.worlds.search import documents, generate, loader, verifier
from trainer.worlds.search import env as search

PAGES = [
    {"title": "The Salt Ledger", "text": "A novel of 1931 by Mira Oldane."},
    {"title": "Mira Oldane", "text": "A writer of novels, born in Vessel."},
    {"title": "Luntz", "text": "A town on the river Brack."},
]
RECORD = {"id": "t", "question": "Where was she born?", "answer": "Vessel", "documents": PAGES}


def moves(task: Task, *texts: str, **settings: Any) -> list[StepResult]:
    """What the world answers to messages, in one episode."""
    env = search.make(task, settings=settings, seed=0)
    env.start()
    return [env.act(read_action(text)) for text in texts]


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("Vessel", True),
        ("the vessel.", True),
        (" 'VESSEL' ", True),
        ("born in Vessel", False),
        ("Vessels", False),
        ("", False),
        ("the", False),
        ("Vessel or Luntz", False),
    ],
)
def test_an_answer_must_equal_the_wanted_one_after_normalisation(given: str, right: bool) -> None:
    assert verifier.is_right(["Vessel"], given) is right


def test_the_right_answer_pays_one_and_ends_and_a_wrong_one_goes_on() -> None:
    results = moves(loader.task(RECORD), "[search] Mira", "[answer] Luntz", "[answer] Vessel")
    assert [result.reward for result in results] == [0.0, 0.0, 1.0]
    assert [result.stop for result in results] == [None, None, StopReason.SOLVED]


def test_documents_are_ranked_by_rare_words_and_titles() -> None:
    assert [page["title"] for page in documents.find(PAGES, "who is Mira Oldane?", 5)] == [
        "Mira Oldane",
        "The Salt Ledger",
    ]
    assert documents.find(PAGES, "Mira Oldane", 1) == [PAGES[1]]


@pytest.mark.parametrize("query", ["zebra", "the of in", "?!", "\x00"])
def test_a_search_that_finds_nothing_says_so(query: str) -> None:
    for style, words in (("full", "No document holds any of these words."), ("compact", "Nothing")):
        (result,) = moves(loader.task(RECORD), f"[search] {query}", prompt_style=style)
        assert result.events == ("search_empty",)
        assert words in result.observation


def test_after_five_searches_no_more_are_carried_out() -> None:
    results = moves(loader.task(RECORD), *["[search] Mira"] * 6)
    assert [result.events[0] for result in results] == ["search_found"] * 5 + ["search_refused"]
    assert "Mira" not in results[5].observation


def test_finishing_ends_and_reveals_nothing() -> None:
    (result,) = moves(loader.task(RECORD), "[finish]")
    assert result.stop is StopReason.FAILED
    assert "Vessel" not in result.observation


def test_our_tasks_are_what_the_generator_makes() -> None:
    for split, text in generate.texts().items():
        assert loader.BUILT_IN[split].read_text() == text
    assert len(catalog.tasks("search", "train")) == 24
    assert len(catalog.tasks("search", "evaluation")) == 8


def test_what_the_expert_reads_holds_the_answer_and_what_it_asks_for_next() -> None:
    cast = env_suite.cast("search")
    for split in catalog.SPLITS:
        for task in catalog.tasks("search", split):
            read = [task.opening]
            episode = cast.play(task, "oracle")
            for turn in episode.turns[2:]:
                if turn.speaker is Speaker.AGENT:
                    wanted = read_action(turn.text).content
                    assert any(wanted in text for text in read), (task.id, wanted)
                elif turn.speaker is Speaker.TOOL:
                    read.append(turn.text)


def test_no_held_out_book_stands_in_a_training_task() -> None:
    held_out = {task.payload["hops"][0] for task in catalog.tasks("search", "evaluation")}
    for task in catalog.tasks("search", "train"):
        assert not held_out & {page["title"] for page in task.payload["documents"]}


def test_the_first_page_answers_few_questions() -> None:
    cast = env_suite.cast("search")
    tasks = catalog.tasks("search", "train")
    assert sum(cast.play(task, "hasty").success or 0.0 for task in tasks) / len(tasks) < 0.3


def test_questions_of_the_real_schema_are_for_evaluation_and_have_no_documents(
    tmp_path: Path,
) -> None:
    path = tmp_path / "questions.json"
    path.write_text(json.dumps([{"id": "B-1", "question": "Who?", "answer": "Ada", "hue": 1}]))
    (task,) = catalog.tasks("search", "evaluation", tmp_path)
    assert task.extra == {"hue": 1}
    assert moves(task, "[search] Ada")[0].events == ("search_empty",)
    env_suite.is_reachable(env_suite.cast("search"), task, "full")
    env_suite.has_a_floor(env_suite.cast("search"), task)
    with pytest.raises(ValueError, match="for evaluation"):
        catalog.tasks("search", "train", path)


def test_the_expert_reaches_everything_on_every_real_task(test_data: Path) -> None:
    if not (test_data / "userrl" / loader.GYM.folder).is_dir():
        pytest.skip(f"no {loader.GYM.file} in {test_data}")
    cast = env_suite.cast("search")
    for task in catalog.tasks("search", "evaluation", test_data / "userrl"):
        env_suite.is_reachable(cast, task, "full")
