"""Travel tasks of TravelGym's schema load from a path, with unknown keys kept and told."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from trainer.worlds import catalog


def record() -> dict[str, Any]:
    """A task in TravelGym's schema, with words of our own."""
    return {
        "scenario": "a weekend away",
        "dimensions": ["flight", "apartment"],
        "wanted_num": 2,
        "initial_description": "We need a flight and an apartment.",
        "flight": {
            "preferences": [["flight", "layover_time", "short layovers", "I hate to wait", 1]],
            "options": {
                "correct": [{"id": "F8", "cost": 90, "type": "correct", "reason": "short"}],
                "wrong": [{"id": "F2", "cost": 50, "type": "wrong", "reason": "long"}],
                "noise": [],
            },
            "correct_ids": ["F8"],
            "best_id": "F8",
            "arguments": {"from": "A", "to": "B"},
        },
        "apartment": {
            "preferences": [["apartment", "view", "a sea view", "I paint the waves"]],
            "options": {"correct": [{"id": "A1", "cost": 70}], "wrong": [], "noise": []},
            "correct_ids": ["A1"],
            "best_id": "A1",
            "arguments": {},
        },
        "difficulty": "easy",
    }


def written(folder: Path, content: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "travelgym_data_22.json"
    path.write_text(json.dumps(content))
    return path


def both_splits(source: Path) -> list[Any]:
    return [task for split in catalog.SPLITS for task in catalog.tasks("travel", split, source)]


@pytest.mark.parametrize("folder", [".", "gyms/TravelGym/travelgym/data"])
def test_a_folder_and_a_clone_are_both_read(tmp_path: Path, folder: str) -> None:
    keys = [f"flight:4-{index}|apartment:4-{index}" for index in range(30)]
    written(tmp_path / folder, {key: record() for key in keys})
    tasks = both_splits(tmp_path)
    assert sorted(task.id for task in tasks) == sorted(keys)
    assert all("travelgym_data_22.json" in task.provenance for task in tasks)
    assert 0 < len(catalog.tasks("travel", "evaluation", tmp_path)) < 15


def test_preferences_become_facts_in_order(tmp_path: Path) -> None:
    (task,) = both_splits(written(tmp_path, {"one": record()}))
    assert [fact.id for fact in task.facts] == ["P1", "P2"]
    assert [fact.kind for fact in task.facts] == ["flight.layover_time", "apartment.view"]
    assert task.facts[0].statement == "I hate to wait"
    assert "layover" in task.facts[0].cues


def test_unknown_keys_are_kept_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path, {"one": record(), "two": record(), "three": record()})
    with caplog.at_level(logging.WARNING):
        loaded = [catalog.tasks("travel", split, path) for split in catalog.SPLITS]
    assert all(task.extra == {"difficulty": "easy"} for tasks in loaded for task in tasks)
    assert caplog.text.count("difficulty") == sum(bool(tasks) for tasks in loaded)


def test_a_record_without_options_is_refused_by_name(tmp_path: Path) -> None:
    broken = record()
    del broken["flight"]["preferences"]
    path = written(tmp_path, {"broken": broken})
    with pytest.raises(ValueError, match="task 'broken' does not have TravelGym's schema"):
        both_splits(path)


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"one": record()})
    path.write_text(path.read_text()[:100])
    with pytest.raises(ValueError, match="not JSON"):
        both_splits(path)
