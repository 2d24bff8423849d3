"""Every real task ends as tau-bench's own tools end it, and the expert wins it in sixteen turns.

The digests were computed with the tools of sierra-research/tau-bench @59a200c on the same data: of
each task all records that its gold actions touch, as they are in the end.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from trainer.episode import Turn
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.loading import verifier_of
from trainer.worlds.tau import verifier
from trainer.worlds.tau.desks import DESKS
from trainer.worlds.tau2.case import read_case
from trainer.worlds.tau2.data_faults import DataFault
from trainer.worlds.tau2.office import Office, close_by_gold
from trainer.worlds.tau2_retail import verifier as newer

NUMBERS = {"train": {"retail": 500}, "evaluation": {"retail": 115, "airline": 50}}
EFFECTS = {
    "train": "7f56feaf10e4bca38369ac23758c070a003ab1fa11fc9d06af8efcf122e3fec3",
    "evaluation": "4ba30f2a219f7377150dce646c75244a180862ff19c527955fad4d65ed8ff4fa",
}
REFUSED = {"train": (19, 20), "evaluation": (19, 24)}
"""Tasks with gold actions that the tools refuse, and how many such actions."""
FREE = {
    "train": {f"retail-train-{number}" for number in "161 214 229 288 349".split()},
    "evaluation": {
        *(f"retail-{number}" for number in "010 012 025 050 057 065 106".split()),
        *(
            f"airline-0{number}"
            for number in "12 13 15 17 18 21 24 29 35 36 37 38 39 40 41 42 47 48 49".split()
        ),
    },
}
"""Tasks whose gold actions change nothing, and in which nothing has to be said."""
LONGEST = 9
"""Turns that the expert takes at most."""


ASKED = (
    "Could you please give me your email address, or your name and zip code?",
    "How can I help you today? What would you like me to do?",
)


class Asking:
    """An agent that opens as desks do."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next question, and leave after both."""
        said = sum(turn.speaker == "agent" for turn in turns)
        return f"[action] {ASKED[said]}" if said < len(ASKED) else "[finish]"


@pytest.fixture(scope="module", params=list(NUMBERS))
def split(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def tasks(split: str, test_data: Path) -> tuple[Task, ...]:
    return catalog.tasks("tau", split, test_data)


def ended_by_gold(task: Task) -> Office:
    desk = DESKS[task.payload["domain"]]
    return close_by_gold(desk, read_case(task.payload["record"]), verifier.bases_of(task))


def touched(office: Office) -> dict[str, dict[str, Any]]:
    """The records that are not as they were, as they are now."""
    return {
        table: {
            key: one for key, one in records.items() if office.agent.base[table].get(key) != one
        }
        for table, records in office.agent.root.items()
    }


def test_both_splits_are_taugyms(split: str, tasks: tuple[Task, ...]) -> None:
    found = [task.payload["domain"] for task in tasks]
    assert {domain: found.count(domain) for domain in set(found)} == NUMBERS[split]


def test_gold_ends_where_tau_benchs_own_tools_end(split: str, tasks: tuple[Task, ...]) -> None:
    effects = {task.id: touched(ended_by_gold(task)) for task in tasks}
    content = json.dumps(effects, sort_keys=True)
    assert hashlib.sha256(content.encode()).hexdigest() == EFFECTS[split]


def test_gold_actions_that_the_tools_refuse_are_known(split: str, tasks: tuple[Task, ...]) -> None:
    refused = [sum(not one.ok for one in ended_by_gold(task).log) for task in tasks]
    assert (sum(map(bool, refused)), sum(refused)) == REFUSED[split]


def test_the_expert_wins_every_task_within_the_turns(tasks: tuple[Task, ...]) -> None:
    cast = env_suite.cast("tau")
    longest = 0
    for task in tasks:
        episode = cast.play(task, "oracle")
        env_suite.keeps_its_declaration(cast, episode)
        env_suite.agrees_with_its_records(cast, task, episode)
        assert episode.total_reward == 1.0, task.id
        longest = max(longest, sum(turn.speaker == "agent" for turn in episode.turns))
    assert longest <= LONGEST


def test_customers_answer_what_a_desk_asks_first(tasks: tuple[Task, ...]) -> None:
    cast = env_suite.cast("tau")
    players = {"asking": lambda *_, **__: Asking()}
    asked = replace(cast, world=replace(cast.world, players=players))
    for position, share in ((0, 1.0), (1, 0.98)):
        told = 0
        for task in tasks:
            users = [one for one in asked.play(task, "asking").turns if one.speaker == "user"]
            told += bool(users[1 + position].revealed)
        assert told >= share * len(tasks), ASKED[position]


@pytest.mark.parametrize("player", ["closing", "handing_over"])
def test_the_tasks_that_end_well_by_themselves_are_known(
    split: str, tasks: tuple[Task, ...], player: str
) -> None:
    cast = env_suite.cast("tau")
    assert {task.id for task in tasks if cast.play(task, player).success} == FREE[split]
    assert not any(cast.play(task, "idle").success for task in tasks[::20])


def test_all_episodes_leave_the_shared_database_as_it_was_read(tasks: tuple[Task, ...]) -> None:
    cast = env_suite.cast("tau")
    base = verifier_of(cast.module).bases_of(tasks[-1]).agent
    before = json.dumps(base)
    for task in tasks[::2]:
        cast.play(task, "hasty", seed=3)
    assert verifier_of(cast.module).bases_of(tasks[-1]).agent is base
    assert json.dumps(base) == before


def test_the_policy_is_tau_benchs_and_the_first_words_are_the_stored_ones(
    tasks: tuple[Task, ...], test_data: Path
) -> None:
    opening = env_suite.cast("tau").env(tasks[-1]).start()
    domain = tasks[-1].payload["domain"]
    assert (test_data / "taubench" / domain / "wiki.md").read_text().strip() in opening.system
    assert opening.user == tasks[-1].opening


def test_loading_tells_which_tasks_are_at_fault(
    test_data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        catalog.tasks("tau", "evaluation", test_data)
    told = [record.getMessage() for record in caplog.records]
    assert sum(DataFault.FREE in one for one in told) == 2
    assert sum(DataFault.REFUSED in one for one in told) == 1
    assert not any(DataFault.UNREACHABLE in one for one in told)


def test_nothing_of_our_own_data_comes_from_the_benchmark(tasks: tuple[Task, ...]) -> None:
    real = {table: set(records) for table, records in verifier.bases_of(tasks[0]).agent.items()}
    said = {fact.statement for task in tasks for fact in task.facts}
    for split in catalog.SPLITS:
        for task in catalog.tasks("tau", split):
            assert not {fact.statement for fact in task.facts} & said
            base = verifier.bases_of(task).agent
            assert not any(real.get(table, set()) & set(base[table]) for table in base)


def test_a_clone_of_userrl_finds_the_databases_beside_it(test_data: Path) -> None:
    beside = catalog.tasks("tau", "evaluation", test_data / "userrl")
    assert beside == catalog.tasks("tau", "evaluation", test_data)


def test_the_newer_tools_would_refuse_forty_nine_of_the_tasks(test_data: Path) -> None:
    differ = 0
    for split in NUMBERS:
        for task in catalog.tasks("tau", split, test_data):
            if task.payload["domain"] == "retail":
                case, bases = read_case(task.payload["record"]), verifier.bases_of(task)
                office = close_by_gold(newer.DOMAIN, case, bases)
                differ += touched(office) != touched(ended_by_gold(task))
    assert differ == 49
