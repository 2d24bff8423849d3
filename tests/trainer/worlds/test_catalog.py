"""Tasks come from one place by world and split, and the two splits share nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer import task as tasks
from trainer.worlds import catalog

CANARY = "EAU-EVALUATION-"


@pytest.mark.parametrize("name", list(catalog.WORLDS))
def test_splits_share_no_task(name: str) -> None:
    train, evaluation = (catalog.tasks(name, split) for split in catalog.SPLITS)
    assert not {entry.id for entry in train} & {entry.id for entry in evaluation}
    assert not {entry.digest for entry in train} & {entry.digest for entry in evaluation}
    assert len({entry.id for entry in train}) == len(train)


@pytest.mark.parametrize("name", list(catalog.WORLDS))
def test_the_canary_stands_in_every_evaluation_record_and_nowhere_else(name: str) -> None:
    folder = catalog.world(name).folder
    evaluation = folder / "evaluation" / "tasks.jsonl"
    assert all(CANARY in line for line in evaluation.read_text().splitlines())
    for path in folder.rglob("*"):
        if path.suffix in (".jsonl", ".yaml", ".md") and path != evaluation:
            assert CANARY not in path.read_text(), path


@pytest.mark.parametrize("name", list(catalog.WORLDS))
@pytest.mark.parametrize("split", catalog.SPLITS)
def test_a_task_survives_json_and_says_where_it_is_from(name: str, split: str) -> None:
    for entry in catalog.tasks(name, split):
        assert tasks.from_json(entry.to_json()) == entry
        assert entry.provenance == "built-in"
        assert entry.world == name
        assert len({fact.id for fact in entry.facts}) == len(entry.facts)
        assert all(fact.cues and fact.statement and fact.text for fact in entry.facts)


def test_the_numbers_of_tasks() -> None:
    counts = {
        (name, split): len(catalog.tasks(name, split))
        for name in catalog.WORLDS
        for split in catalog.SPLITS
    }
    assert counts["travel", "train"] >= 200
    assert counts["travel", "evaluation"] >= 60
    assert counts["intention", "train"] == 40
    assert counts["intention", "evaluation"] == 12


def test_an_unknown_world_or_split_is_told_with_what_there_is() -> None:
    with pytest.raises(ValueError, match="no world named 'trvel'; there are travel"):
        catalog.tasks("trvel", "train")
    with pytest.raises(ValueError, match="choose one of train, evaluation"):
        catalog.tasks("travel", "test")


@pytest.mark.parametrize("name", list(catalog.WORLDS))
def test_a_missing_source_lists_every_path_that_was_tried(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError) as caught:
        catalog.tasks(name, "train", tmp_path / "nowhere")
    assert str(caught.value).count(str(tmp_path / "nowhere")) >= 2
