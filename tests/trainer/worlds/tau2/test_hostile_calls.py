"""Whatever an agent writes into a call, a tool answers or refuses, and never breaks."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.tau2.case import NamedCall, Side, read_case
from trainer.worlds.tau2.office import Office, open_office

WORLDS = ("tau2_mock", "tau2_retail", "tau2_airline")
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)


def office(name: str, task: Task) -> Office:
    tools = importlib.import_module(f"trainer.worlds.{name}.tools")
    verifier = importlib.import_module(f"trainer.worlds.{name}.verifier")
    return open_office(tools.DOMAIN, read_case(task.payload["record"]), verifier.bases_of(task))


def gold_calls(name: str) -> list[NamedCall]:
    return [
        action.call
        for task in catalog.tasks(name, "train")
        for action in read_case(task.payload["record"]).actions
        if action.call.side is Side.AGENT
    ]


@pytest.mark.parametrize("name", WORLDS)
@settings(max_examples=60)
@given(data=st.data())
def test_a_call_with_pieces_replaced_is_answered_or_refused(name: str, data: st.DataObject) -> None:
    task = data.draw(st.sampled_from(catalog.tasks(name, "train")))
    open_for_all = office(name, task)
    for _ in range(3):
        call = data.draw(st.sampled_from(gold_calls(name)))
        arguments = json.loads(json.dumps(dict(call.arguments)))
        for key in data.draw(st.sets(st.sampled_from([*arguments, "more"]), max_size=2)):
            arguments[key] = data.draw(JUNK | _pieces(arguments.get(key)))
        before = open_for_all.agent.changes()
        outcome = open_for_all.call(NamedCall(Side.AGENT, call.name, arguments))
        assert outcome.text
        if not outcome.ok:
            assert outcome.text.startswith("Error: ")
            assert open_for_all.agent.changes() == before
        json.dumps(open_for_all.agent.root)


def _pieces(value: Any) -> st.SearchStrategy[Any]:
    """Values of the right type that are cut, doubled or emptied."""
    if isinstance(value, list):
        return st.sampled_from([[], value * 2, value[:1], [{}], ["x"]])
    if isinstance(value, int):
        return st.integers(-3, 9)
    return st.sampled_from(["", "x", "2024-05-31", "2024-13-77", "9999-12-31", "economy"])
