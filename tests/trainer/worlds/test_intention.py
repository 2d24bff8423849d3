"""The intention world pays what IntentionGym pays, for our tasks and for IN3's."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from trainer.episode import StopReason
from trainer.message import Reply, read_action
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.intention import env as intention
from trainer.worlds.intention import loader, verifier


def task(*importances: int | str) -> Task:
    details = [
        {
            "description": f"detail {number}",
            "importance": importance,
            "inquiry": f"What about {number}?",
            "options": ["this", "that", "both"],
        }
        for number, importance in enumerate(importances)
    ]
    return loader.task({"id": "t", "category": "c", "task": "Help me.", "missing_details": details})


@pytest.mark.parametrize(
    ("importances", "reward"),
    [
        ([3], 1.0),
        ([2], 0.7),
        ([1], 0.4),
        ([3, 2], 0.8),
        ([1, 1, 1], 0.0),
        ([2, 1, 1], 0.3),
        ([1] * 9, 0.0),
        ([], 0.0),
    ],
)
def test_a_turn_pays_the_published_number(importances: list[int], reward: float) -> None:
    assert verifier.turn_reward(importances) == pytest.approx(reward, abs=1e-12)
    assert verifier.turn_reward(importances) >= 0.0


def test_importance_may_be_text_or_number() -> None:
    assert task("3", 2).payload == task(3, "2").payload


@pytest.mark.parametrize("importance", ["4", 0, "high"])
def test_another_importance_is_refused(importance: Any) -> None:
    with pytest.raises(ValueError):
        task(importance)


def test_the_reward_is_the_share_of_the_best_sum_and_the_metric_is_exact() -> None:
    env = intention.make(task(3, 2), settings={}, seed=0)
    env.start()
    result = env.hear(Reply("both", revealed=("D1", "D2")))
    assert result.reward == pytest.approx(0.8 / 1.7)
    assert result.stop is StopReason.SOLVED
    assert result.events == ("detail_covered", "detail_covered", "several_details")
    verdict = env.verdict()
    assert verdict.success == 1.0
    assert verdict.metrics["sum"] == pytest.approx(0.8)


def test_action_and_answer_are_both_questions_and_search_is_none() -> None:
    env = intention.make(task(3), settings={}, seed=0)
    env.start()
    assert env.act(read_action("[action] Which?")).say == "Which?"
    assert env.act(read_action("[answer] Which?")).say == "Which?"
    assert env.act(read_action("[search] Which?")).events == ("malformed",)
    assert env.act(read_action("[finish]")).stop is StopReason.FAILED


def test_the_agent_sees_neither_details_nor_options() -> None:
    for entry in catalog.tasks("intention", "train"):
        for style in env_suite.STYLES:
            opening = intention.make(entry, settings={"prompt_style": style}, seed=0).start()
            for detail in entry.payload["missing_details"]:
                assert detail["inquiry"] not in opening.system + opening.user


def test_real_test_tasks_have_the_published_best_sum(test_data: Path) -> None:
    pytest.importorskip("pyarrow", reason="the ids of the split are in a parquet file")
    tasks = catalog.tasks("intention", "evaluation", test_data / "userrl")
    assert len(tasks) == 40
    mean = sum(verifier.best_sum(entry) for entry in tasks) / len(tasks)
    assert mean == pytest.approx(2.68, abs=0.005)


def test_the_expert_reaches_everything_on_real_test_tasks(test_data: Path) -> None:
    cast = env_suite.cast("intention")
    for entry in catalog.tasks("intention", "evaluation", test_data / "userrl")[:40]:
        env_suite.is_reachable(cast, entry, "full")
        env_suite.has_a_floor(cast, entry)


def test_the_real_splits_share_no_task(test_data: Path) -> None:
    splits = [catalog.tasks("intention", split, test_data / "userrl") for split in catalog.SPLITS]
    assert all(splits)
    assert not {entry.id for entry in splits[0]} & {entry.id for entry in splits[1]}
    assert all(entry.provenance.startswith("IN3 ") for split in splits for entry in split)


def test_the_same_real_task_always_has_the_same_answers(test_data: Path) -> None:
    source = test_data / "userrl"
    assert catalog.tasks("intention", "train", source) == catalog.tasks(
        "intention", "train", source
    )


def test_unknown_keys_are_kept_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    detail = {"description": "d", "importance": "2", "inquiry": "i?", "options": ["o"], "hue": 1}
    entry = {"id": "x", "category": "c", "task": "t", "missing_details": [detail], "mood": "sad"}
    path = tmp_path / "all_intentions_train.json"
    path.write_text(json.dumps([entry, {**entry, "id": "y"}]))
    with caplog.at_level(logging.WARNING):
        loaded = catalog.tasks("intention", "train", tmp_path)
    assert [one.extra for one in loaded] == [{"mood": "sad", "D1": {"hue": 1}}] * 2
    assert caplog.text.count("mood") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "must be a list"),
        ('[{"id": "x"}]', "task 0 does not have IN3's schema"),
        ("[", "not JSON"),
    ],
)
def test_an_unusable_file_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "all_intentions_train.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        catalog.tasks("intention", "train", tmp_path)
