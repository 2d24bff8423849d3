"""TauGym's tasks are found in a clone, their databases beside it, and what is missing is told."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from trainer.worlds import catalog
from trainer.worlds.source import SourceError
from trainer.worlds.tau import customer, verifier
from trainer.worlds.tau2 import shelf

USER: dict[str, Any] = {
    "name": {"first_name": "Ann", "last_name": "Poe"},
    "address": {"zip": "1"},
    "email": "ann@post.example",
    "payment_methods": {},
    "orders": [],
}
BASE: dict[str, Any] = {"orders": {}, "products": {}, "users": {"ann_1": USER}}
ADDRESS = dict.fromkeys(("address1", "address2", "city", "state", "country", "zip"), "x")
RECORD: dict[str, Any] = {
    "id": "retail-train-000",
    "obs": "Hi, I have moved.",
    "info": {
        "task": {
            "user_id": "ann_1",
            "actions": [{"name": "modify_user_address", "kwargs": {"user_id": "ann_1", **ADDRESS}}],
            "instruction": "You are Ann Poe. You want your address changed.",
            "outputs": [],
        },
        "source": "user",
        "user_cost": None,
        "reward_info": None,
    },
}
GYM = "gyms/TauGym/taugym/data"


def lay_tasks(folder: Path, *records: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tau_train.json").write_text(json.dumps(list(records) or [RECORD]))


def lay_data(folder: Path, *, inside: str = "") -> None:
    (folder / inside).mkdir(parents=True)
    for table, records in BASE.items():
        (folder / inside / f"{table}.json").write_text(json.dumps(records))
    (folder / "wiki.md").write_text("Be kind.")


@pytest.mark.parametrize(
    ("at", "home", "inside"),
    [
        (".", "retail", ""),
        (GYM, "taubench/retail", ""),
        (f"userrl/{GYM}", "taubench/retail", ""),
        (f"UserRL/{GYM}", "tau-bench/tau_bench/envs/retail", "data"),
    ],
)
def test_tasks_and_databases_are_found_where_clones_keep_them(
    tmp_path: Path, at: str, home: str, inside: str
) -> None:
    lay_tasks(tmp_path / at)
    lay_data(tmp_path / home, inside=inside)
    (task,) = catalog.tasks("tau", "train", tmp_path)
    assert (task.id, task.opening) == ("retail-train-000", "Hi, I have moved.")
    assert task.provenance == f"tau-bench {(tmp_path / home).resolve()}"
    assert verifier.bases_of(task).agent == BASE
    assert shelf.policy(task) == ("Be kind.",)
    assert [fact.statement for fact in task.facts] == [
        "I am Ann Poe.",
        "I want my address changed.",
    ]


def test_a_sentence_is_asked_for_by_what_it_is_about() -> None:
    facts = customer.facts_of(
        "You are Ann Poe in 12345. You are calm, kind and shy. You want to return the lamp of #W1, "
        "because it is broken. Put it on your gift card. If asked, you prefer the lamp. Hm."
    )
    assert [(fact.id, fact.kind) for fact in facts] == [
        ("F1", "identity"), ("F2", "subject"), ("F3", "payment"), ("F4", "terms"), ("F5", "other"),
    ]  # fmt: skip
    assert facts[1].statement == "I want to return the lamp of #W1, because it is broken."
    assert {"order number", "how can I help", "the reason", "lamp"} <= set(facts[1].cues)
    assert "payment method" in facts[2].cues and "your name" not in facts[2].cues
    assert customer.facts_of("You are calm.") == ()


def test_a_clone_beside_the_one_that_is_named_will_do(tmp_path: Path) -> None:
    lay_tasks(tmp_path / "UserRL" / GYM)
    lay_data(tmp_path / "tau-bench/tau_bench/envs/retail", inside="data")
    (task,) = catalog.tasks("tau", "train", tmp_path / "UserRL")
    assert verifier.bases_of(task).agent == BASE


def test_the_newer_benchmarks_database_will_do(tmp_path: Path) -> None:
    lay_tasks(tmp_path)
    home = tmp_path / "data/tau2/domains/retail"
    home.mkdir(parents=True)
    (home / "db.json").write_text(json.dumps(BASE))
    (home / "policy.md").write_text("Be brief.")
    (task,) = catalog.tasks("tau", "train", tmp_path)
    assert verifier.bases_of(task).agent == BASE and shelf.policy(task) == ("Be brief.",)


def test_a_task_is_the_same_task_in_another_place(tmp_path: Path) -> None:
    for place in ("here", "there"):
        lay_tasks(tmp_path / place)
        lay_data(tmp_path / place / "retail")
    (here,), (there,) = (catalog.tasks("tau", "train", tmp_path / one) for one in ("here", "there"))
    assert here.digest == there.digest and here != there


@pytest.mark.parametrize("missing", ["users.json", "wiki.md"])
def test_missing_data_is_told_with_all_that_would_do(tmp_path: Path, missing: str) -> None:
    lay_tasks(tmp_path / "clone")
    lay_data(tmp_path / "clone" / "retail")
    (tmp_path / "clone" / "retail" / missing).unlink()
    with pytest.raises(SourceError) as caught:
        catalog.tasks("tau", "train", tmp_path / "clone")
    assert "the retail data of tau-bench" in str(caught.value)
    assert str(tmp_path / "clone" / "retail" / missing) in str(caught.value)


def test_missing_tasks_are_told_with_every_path(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        catalog.tasks("tau", "evaluation", tmp_path)
    assert str(tmp_path / "userrl" / GYM / "tau_test.json") in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"info": {}}, {"id": "bank-001"}, {"info": {"task": {"actions": [{}]}}}]
)
def test_a_record_without_the_schema_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    lay_tasks(tmp_path, {**RECORD, **change})
    lay_data(tmp_path / "retail")
    with pytest.raises(SourceError, match=r"task 0 cannot be used .* it needs id, obs and info"):
        catalog.tasks("tau", "train", tmp_path)


def test_keys_that_nothing_reads_are_kept_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lay_tasks(tmp_path, {**RECORD, "note": "Odd."})
    lay_data(tmp_path / "retail")
    with caplog.at_level(logging.WARNING):
        (task,) = catalog.tasks("tau", "train", tmp_path)
    assert task.extra == {"note": "Odd."} and "note" in caplog.text


def test_data_that_changed_since_is_refused(tmp_path: Path) -> None:
    lay_tasks(tmp_path)
    lay_data(tmp_path / "retail")
    (task,) = catalog.tasks("tau", "train", tmp_path)
    (tmp_path / "retail" / "wiki.md").write_text("Be rude.")
    with pytest.raises(SourceError, match="has changed since the tasks were loaded"):
        shelf.policy(task)
