"""Tasks are found in a clone, a data folder or a domain's own, and mean the same everywhere."""

from __future__ import annotations

import gzip
import importlib
import json
import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.worlds.tau2.desks import BASES, COMPLETE
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.source import SourceError
from trainer.worlds.tau2 import shelf
from trainer.worlds.tau2.scenario import first_person, scenario

RECORD: dict[str, Any] = {
    "id": "one",
    "user_scenario": {
        "persona": None,
        "instructions": {
            "reason_for_call": "You want your task done.",
            "known_info": "You are user_1.",
            "unknown_info": None,
            "task_instructions": "If asked, say that you're in a hurry.",
        },
    },
    "evaluation_criteria": {"actions": [COMPLETE]},
}


def lay(folder: Path, *records: dict[str, Any], splits: dict[str, list[str]] | None = None) -> Path:
    """Write a mock domain; returns its folder."""
    folder.mkdir(parents=True)
    (folder / "tasks.json").write_text(json.dumps(records or [RECORD]))
    (folder / "db.json").write_text(json.dumps(BASES.agent))
    (folder / "user_db.json").write_text(json.dumps(BASES.user))
    (folder / "policy.md").write_text("Be kind.")
    if splits is not None:
        (folder / "split_tasks.json").write_text(json.dumps(splits))
    return folder


def all_tasks(source: Path) -> list[Task]:
    return [task for split in catalog.SPLITS for task in catalog.tasks("tau2_mock", split, source)]


@pytest.mark.parametrize("inside", ["data/tau2/domains/mock", "tau2/domains/mock", "mock", "."])
def test_a_domain_is_found_wherever_a_path_may_point(tmp_path: Path, inside: str) -> None:
    folder = lay(tmp_path / "root" / inside)
    (task,) = all_tasks(tmp_path / "root")
    assert task.provenance == f"tau2-bench {folder.resolve()}"
    assert shelf.bases(task).agent == BASES.agent
    assert shelf.bases(task).user == BASES.user
    assert shelf.policy(task) == ("Be kind.",)


def test_a_task_is_the_same_task_in_another_place(tmp_path: Path) -> None:
    lay(tmp_path / "here")
    lay(tmp_path / "there")
    (here,), (there,) = all_tasks(tmp_path / "here"), all_tasks(tmp_path / "there")
    assert here.digest == there.digest and here != there


def test_a_list_may_stand_under_a_key(tmp_path: Path) -> None:
    folder = lay(tmp_path / "mock")
    (folder / "tasks.json").write_text(json.dumps({"tasks": [RECORD]}))
    assert [task.id for task in all_tasks(folder)] == ["one"]
    (folder / "tasks.json").write_text('"none"')
    with pytest.raises(SourceError, match="must be a list of tasks"):
        all_tasks(folder)


def test_a_packed_database_is_read_like_a_plain_one(tmp_path: Path) -> None:
    folder = lay(tmp_path / "mock")
    (folder / "db.json").unlink()
    (folder / "db.json.gz").write_bytes(gzip.compress(json.dumps(BASES.agent).encode()))
    assert shelf.bases(all_tasks(folder)[0]).agent == BASES.agent


def test_splits_are_those_of_the_file(tmp_path: Path) -> None:
    records = [{**RECORD, "id": name} for name in "abc"]
    lay(tmp_path / "mock", *records, splits={"train": ["a", "c"], "test": ["b"]})
    split = {name: catalog.tasks("tau2_mock", name, tmp_path) for name in catalog.SPLITS}
    assert [task.id for task in split["train"]] == ["a", "c"]
    assert [task.id for task in split["evaluation"]] == ["b"]


def test_a_split_without_tasks_is_empty_and_takes_none_of_the_others(tmp_path: Path) -> None:
    lay(tmp_path / "mock", splits={"train": ["one"], "test": []})
    assert [task.id for task in catalog.tasks("tau2_mock", "train", tmp_path)] == ["one"]
    assert catalog.tasks("tau2_mock", "evaluation", tmp_path) == ()


def test_without_a_file_a_digest_splits_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    records = [{**RECORD, "id": f"task-{number}"} for number in range(60)]
    lay(tmp_path / "mock", *records)
    with caplog.at_level(logging.WARNING):
        splits = [catalog.tasks("tau2_mock", name, tmp_path) for name in catalog.SPLITS]
    assert sum(map(len, splits)) == 60
    assert 10 <= len(splits[1]) <= 30
    assert "digest" in caplog.text


def test_tasks_that_a_split_names_and_the_file_lacks_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lay(tmp_path / "mock", splits={"train": ["one", "two"], "test": []})
    with caplog.at_level(logging.WARNING):
        catalog.tasks("tau2_mock", "train", tmp_path)
    assert "has 1 of the 2 tasks of its split" in caplog.text


def test_fault_dropped_keys_a_misspelled_key_is_told_and_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lay(tmp_path / "mock", {**RECORD, "tikcet": "Lost."})
    with caplog.at_level(logging.WARNING):
        (task,) = all_tasks(tmp_path)
    assert "tikcet" in caplog.text
    assert task.payload["record"]["tikcet"] == "Lost."


def test_a_record_without_the_schema_is_named(tmp_path: Path) -> None:
    lay(tmp_path / "mock", {"name": "no id"}, splits={"train": ["None"], "test": []})
    with pytest.raises(SourceError, match="task 0 does not have tau2's schema"):
        catalog.tasks("tau2_mock", "train", tmp_path)


@pytest.mark.parametrize("name", ["db.json", "policy.md"])
def test_a_missing_file_is_told_with_all_that_would_do(tmp_path: Path, name: str) -> None:
    (lay(tmp_path / "mock") / name).unlink()
    with pytest.raises(SourceError) as caught:
        all_tasks(tmp_path)
    assert name in str(caught.value) and str(tmp_path) in str(caught.value)


def test_data_that_changed_since_is_refused(tmp_path: Path) -> None:
    folder = lay(tmp_path / "mock")
    (task,) = all_tasks(tmp_path)
    (folder / "policy.md").write_text("Be rude.")
    with pytest.raises(SourceError, match="has changed since the tasks were loaded"):
        shelf.policy(task)
    (folder / "db.json").write_text("{}")
    (other,) = all_tasks(tmp_path)
    assert shelf.bases(other).agent == {} and shelf.bases(task).agent == BASES.agent


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    lay(tmp_path / "mock")
    (task,) = all_tasks(tmp_path)
    (tmp_path / "secret.json").write_text("{}")
    outside = {**task.payload, "agent_db": {"../secret.json": "0" * 64}}
    with pytest.raises(SourceError, match="name files, not paths"):
        shelf.bases(replace(task, payload=outside))
    with pytest.raises(SourceError, match="names no folder"):
        shelf.bases(replace(task, provenance="hearsay"))


def test_the_older_benchmarks_files_make_the_same_databases(
    test_data: Path, tmp_path: Path
) -> None:
    domains = test_data / "tau2/data/tau2/domains"
    older = test_data / "taubench"
    for name in ("retail", "airline"):
        folder = tmp_path / name
        folder.mkdir()
        for path in (*sorted((domains / name).glob("*.[jm][sd]*")), *(older / name).iterdir()):
            if not path.name.startswith("db."):
                shutil.copy(path, folder)
        world = catalog.world(f"tau2_{name}")
        verifier = importlib.import_module(f"trainer.worlds.tau2_{name}.verifier")
        (task, *_), (whole, *_) = (
            world.load("train", source) for source in (tmp_path, test_data / "tau2")
        )
        assert len(task.payload["agent_db"]) == 3
        assert verifier.bases_of(task).agent == verifier.bases_of(whole).agent


def test_prose_about_you_becomes_facts_that_i_tell() -> None:
    told = scenario(RECORD)
    assert told.opening == "Hello, I need some help."
    assert [(fact.kind, fact.statement) for fact in told.facts] == [
        ("known", "I am user_1."),
        ("request", "I want my task done."),
        ("wish", "If asked, say that I am in a hurry."),
    ]
    assert "hurry" in told.facts[2].cues
    assert "You want your task done." in told.goal
    shy = {**RECORD, "user_scenario": {**RECORD["user_scenario"], "persona": "Shy."}}
    assert scenario(shy).goal.startswith("You are like this: Shy.")


def test_a_scenario_may_be_one_text_or_none() -> None:
    plain = scenario({"user_scenario": {"instructions": "Ask for help. Be brief."}})
    assert [fact.statement for fact in plain.facts] == ["Ask for help.", "Be brief."]
    assert scenario({}).facts == () and scenario({}).goal


@pytest.mark.parametrize(
    ("second", "first"),
    [
        ("you are Anna", "I am Anna"),
        ("Your order is late and you've waited", "My order is late and I have waited"),
        ("ask the agent to tell you", "Ask the agent to tell me"),
        ("Do it yourself", "Do it myself"),
    ],
)
def test_sentences_change_sides(second: str, first: str) -> None:
    assert first_person(second) == first
