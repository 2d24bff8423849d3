"""Every real task is won by its gold actions, and what doing nothing earns is known by its ids."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path

import pytest

from tests.conformance import env_suite
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.loading import verifier_of
from trainer.worlds.tau2 import shelf
from trainer.worlds.tau2.data_faults import DataFault

UNREACHABLE = {
    # Its assertion wants the notice read, its database wants it unread (no public report).
    "tau2_mock": {"update_task_with_user_tools"},
    "tau2_retail": set[str](),
    "tau2_airline": set[str](),
}
FREE = {
    # Neither actions nor assertions, so that no state is the end.
    "tau2_mock": {"create_task_1_nl_eval"},
    # Gold changes nothing, and nothing has to be said: what they ask for only a judge could tell.
    "tau2_retail": set("10 25 50 57 105 12 65".split()),
    "tau2_airline": set("0 1 2 4 5 6 9 10 13 26 27 28 31 34 36 38 41 43 45 46 47 48 49".split()),
}
NUM_UNJUDGED = {"tau2_mock": 0, "tau2_retail": 40, "tau2_airline": 0}
"""Tasks with statements in the basis that no judge was there for."""


def real_tasks(name: str, test_data: Path) -> list[Task]:
    source = test_data / "tau2"
    return [task for split in catalog.SPLITS for task in catalog.tasks(name, split, source)]


@pytest.mark.parametrize("name", list(UNREACHABLE))
def test_the_expert_reaches_every_end_that_can_be_reached(name: str, test_data: Path) -> None:
    cast = env_suite.cast(name)
    unjudged = 0
    lost = set()
    for task in real_tasks(name, test_data):
        episode = cast.play(task, "oracle")
        env_suite.keeps_its_declaration(cast, episode)
        env_suite.agrees_with_its_records(cast, task, episode)
        unjudged += episode.metrics["nl_unjudged"] > 0
        if episode.success != 1.0:
            lost.add(task.id)
    assert lost == UNREACHABLE[name]
    assert unjudged == NUM_UNJUDGED[name]


@pytest.mark.parametrize("name", list(FREE))
def test_tau2_bench_384_the_tasks_that_end_well_by_themselves_are_known(
    name: str, test_data: Path
) -> None:
    cast = env_suite.cast(name)
    tasks = real_tasks(name, test_data)
    assert {task.id for task in tasks if cast.play(task, "closing").success} == FREE[name]
    assert not any(cast.play(task, "idle").success for task in tasks)


@pytest.mark.parametrize("name", list(FREE))
def test_loading_tells_which_tasks_are_at_fault(
    name: str, test_data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        real_tasks(name, test_data)
    told = " ".join(record.getMessage() for record in caplog.records)
    assert DataFault.FREE in told
    assert (DataFault.UNREACHABLE in told) == bool(UNREACHABLE[name])
    assert (DataFault.REFUSED in told) == (name == "tau2_retail")


@pytest.mark.parametrize("name", ["tau2_retail", "tau2_airline"])
def test_all_episodes_leave_the_shared_database_as_it_was_read(name: str, test_data: Path) -> None:
    cast = env_suite.cast(name)
    tasks = real_tasks(name, test_data)
    base = verifier_of(cast.module).bases_of(tasks[0]).agent
    before = json.dumps(base)
    for task in tasks:
        for player in ("oracle", "hasty"):
            cast.play(task, player, seed=3)
    assert verifier_of(cast.module).bases_of(tasks[-1]).agent is base
    assert json.dumps(base) == before


@pytest.mark.parametrize(
    ("name", "numbers"), [("tau2_retail", (74, 40)), ("tau2_airline", (30, 20))]
)
def test_splits_are_those_of_the_benchmark(
    name: str, numbers: tuple[int, int], test_data: Path
) -> None:
    source = test_data / "tau2"
    splits = [catalog.tasks(name, split, source) for split in catalog.SPLITS]
    assert tuple(map(len, splits)) == numbers
    assert not {task.id for task in splits[0]} & {task.id for task in splits[1]}


@pytest.mark.parametrize("name", list(FREE))
def test_nothing_of_our_own_data_comes_from_the_benchmark(name: str, test_data: Path) -> None:
    real = real_tasks(name, test_data)
    said = {fact.statement for task in real for fact in task.facts}
    # The benchmark's task list numbers users and tasks; so does ours.
    named = set() if name == "tau2_mock" else _ids(real[0])
    for split in catalog.SPLITS:
        ours = catalog.tasks(name, split)
        assert not _ids(ours[0]) & named
        assert not {fact.statement for task in ours for fact in task.facts} & said
        assert not {task.id for task in ours} & {task.id for task in real}


def _ids(task: Task) -> set[str]:
    """The ids of users, orders, reservations, products and flights in the database of a task."""
    (name,) = task.payload["agent_db"]
    packed = (shelf.folder_of(task) / name).read_bytes()
    database = json.loads(gzip.decompress(packed) if name.endswith(".gz") else packed)
    return {key for records in database.values() for key in records}


def test_a_policy_is_read_from_the_data(test_data: Path) -> None:
    cast = env_suite.cast("tau2_airline")
    (first, *_) = real_tasks("tau2_airline", test_data)
    policy = test_data / "tau2/data/tau2/domains/airline/policy.md"
    system = cast.env(first).start().system
    assert policy.read_text().strip() in system
