"""Episodes share a base and own what they change: nothing one does is seen by another."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.values import ABSENT, Change, clone

KEYS = ("a", "b", "c")
PATHS = st.lists(st.sampled_from(KEYS), min_size=1, max_size=3).map(tuple)


def base() -> dict[str, Any]:
    return {
        "orders": {"1": {"items": [{"price": 2.0}], "status": "pending"}, "2": {"items": []}},
        "users": {"x": {"cards": {"g": {"balance": 5}}}},
    }


def test_an_edit_is_seen_here_and_nowhere_else() -> None:
    content = base()
    one, other = Database(content), Database(content)
    one.edit("orders", "1")["status"] = "cancelled"
    one.edit("orders", "1", "items", 0)["price"] = 3.0
    assert one.get("orders", "1") == {"items": [{"price": 3.0}], "status": "cancelled"}
    assert other.get("orders", "1", "status") == "pending"
    assert content == base()
    assert one.changes() == [
        Change("/orders/1/items/0/price", 2.0, 3.0),
        Change("/orders/1/status", "pending", "cancelled"),
    ]


def test_what_is_not_touched_is_not_copied() -> None:
    content = base()
    database = Database(content)
    database.edit("orders", "1")["status"] = "gone"
    assert database.get("orders", "2") is content["orders"]["2"]
    assert database.get("users") is content["users"]


def test_records_are_put_and_taken_away() -> None:
    content = base()
    database = Database(content)
    database.put({"items": []}, "orders", "3")
    database.remove("orders", "2")
    assert database.changes() == [
        Change("/orders/2", {"items": []}, ABSENT),
        Change("/orders/3", ABSENT, {"items": []}),
    ]
    with pytest.raises(KeyError):
        database.remove("orders", "9")
    with pytest.raises(KeyError):
        database.edit("orders", "9")
    assert content == base()


def test_fault_aliased_databases_data_laid_over_one_database_is_not_the_others() -> None:
    data = {"users": {"x": {"cards": {"g": {"balance": 9}}, "tags": ["new"]}}}
    agent, user = Database(base()), Database(base())
    agent.merge(data)
    agent.edit("users", "x", "tags").append("more")
    assert agent.get("users", "x") == {"cards": {"g": {"balance": 9}}, "tags": ["new", "more"]}
    assert user.changes() == []
    assert data["users"]["x"]["tags"] == ["new"]


def test_two_states_over_one_base_are_compared_with_each_other() -> None:
    content = base()
    gold, found = Database(content), Database(content)
    gold.edit("orders", "1")["status"] = "cancelled"
    found.edit("orders", "1")["status"] = "returned"
    assert found.changes(gold) == [Change("/orders/1/status", "cancelled", "returned")]
    found.edit("orders", "1")["status"] = "cancelled"
    assert found.changes(gold) == []


@given(st.lists(st.tuples(st.sampled_from(["put", "edit", "merge"]), PATHS, st.integers(0, 3))))
def test_any_sequence_of_changes_equals_the_same_on_a_copy(
    steps: list[tuple[str, tuple[str, ...], int]],
) -> None:
    content = {one: {two: {three: {"n": 0} for three in KEYS} for two in KEYS} for one in KEYS}
    before = json.dumps(content)
    database, model = Database(content), clone(content)
    for kind, path, number in steps:
        node = model
        for key in path:
            node = node[key]
        if kind == "put":
            database.put({"n": number, "a": {}, "b": {}, "c": {}}, *path, "a")
            node["a"] = {"n": number, "a": {}, "b": {}, "c": {}}
        elif kind == "edit":
            database.edit(*path)["n"] = number
            node["n"] = number
        else:
            database.merge(_nested(path, {"m": number}))
            node["m"] = number
        model = clone(model)
        if not _deep_enough(model):
            break
    assert database.root == model
    assert json.dumps(content) == before


def test_a_state_and_its_difference_cost_what_was_touched() -> None:
    content = {
        "orders": {str(index): {"items": [{"n": n} for n in range(20)]} for index in range(3000)}
    }
    started = time.process_time()
    for index in range(50):
        database = Database(content)
        database.edit("orders", str(index))["items"].clear()
        assert len(database.changes()) == 20
    # A deep copy of this content alone takes more than a hundred times as long as one round.
    assert (time.process_time() - started) / 50 < 0.02


def _nested(path: tuple[str, ...], value: Any) -> Any:
    return value if not path else {path[0]: _nested(path[1:], value)}


def _deep_enough(model: dict[str, Any]) -> bool:
    return all(
        isinstance(model.get(one, {}).get(two, {}).get(three), dict)
        for one in KEYS
        for two in KEYS
        for three in KEYS
    )
