"""Our own tasks are made as they stand on disk, enough of each kind, and none ends by itself."""

from __future__ import annotations

import importlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from tests.trainer.worlds.tau2.desks import BASES
from trainer.worlds import catalog
from trainer.worlds.tau2 import drafts
from trainer.worlds.tau2.case import Component, read_case
from trainer.worlds.tau2.drafts import Draft, Step, Told, UnsoundTaskError
from trainer.worlds.tau2_mock.tools import DOMAIN

WORLDS = ("tau2_mock", "tau2_retail", "tau2_airline")
DRAFT = Draft(
    id="d",
    opening="Hello.",
    goal="Have it done.",
    told=(Told("entry", "I mean task_1.", ("which task",)),),
    steps=(Step("update_task_status", {"task_id": "task_1", "status": "completed"}),),
)


@pytest.mark.parametrize("name", WORLDS)
def test_the_files_are_what_the_generator_writes(name: str, tmp_path: Path) -> None:
    importlib.import_module(f"trainer.worlds.{name}.tasks.generate").main(["--out", str(tmp_path)])
    folder = catalog.world(name).folder
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(written) >= 7
    for path in written:
        assert (tmp_path / path).read_bytes() == (folder / path).read_bytes(), path


@pytest.mark.parametrize("name", WORLDS)
def test_there_are_twenty_tasks_to_train_on_and_others_to_evaluate(name: str) -> None:
    train, evaluation = (catalog.tasks(name, split) for split in catalog.SPLITS)
    assert len(train) >= 20 and len(evaluation) >= 10
    components = Counter(
        component for task in train for component in read_case(task.payload["record"]).basis
    )
    assert components[Component.DB] == len(train)
    assert components[Component.ACTION] >= 2
    assert Component.NL_ASSERTION not in components


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("player", ["idle", "closing"])
def test_tau2_bench_384_doing_nothing_earns_nothing_on_any_task_of_ours(
    name: str, player: str
) -> None:
    cast = env_suite.cast(name)
    for split in catalog.SPLITS:
        for task in catalog.tasks(name, split):
            assert cast.play(task, player).total_reward == 0.0, task.id


@pytest.mark.parametrize("name", WORLDS)
def test_a_hasty_agent_is_between_nothing_and_everything(name: str) -> None:
    cast = env_suite.cast(name)
    tasks = catalog.tasks(name, "train")
    won = sum(cast.play(task, "hasty", seed=seed).success or 0 for seed, task in enumerate(tasks))
    assert 0 < won < len(tasks)


@pytest.mark.parametrize("name", WORLDS)
def test_no_tool_that_a_policy_names_is_missing(name: str) -> None:
    module = importlib.import_module(f"trainer.worlds.{name}.tasks.generate")
    tools = importlib.import_module(f"trainer.worlds.{name}.tools").DOMAIN.agent.tools
    named = {word.strip("`.,") for word in module.POLICY.split() if "`" in word and "_" in word}
    assert named <= set(tools)


def test_fault_unread_notice_a_task_with_tools_of_the_users_can_be_won() -> None:
    cast = env_suite.cast("tau2_mock")
    notices = [task for task in catalog.tasks("tau2_mock", "train") if "notice" in task.id]
    assert len(notices) >= 3
    for task in notices:
        episode = cast.play(task, "oracle")
        assert episode.metrics["env_assertion"] == episode.metrics["db"] == 1.0
        assert episode.success == 1.0


def test_tau2_bench_182_a_user_does_not_leave_while_a_step_is_announced() -> None:
    cast = env_suite.cast("tau2_retail")
    (task, *_) = catalog.tasks("tau2_retail", "train")

    class Announcer:
        """Says that it is about to act, and offers further help in the same breath."""

        def move(self, turns: Any) -> str:
            return "[action] I will cancel it now. Is there anything else?"

    promising = replace(cast.world, players={"announcer": lambda *_, **__: Announcer()})
    episode = replace(cast, world=promising).play(task, "announcer")
    assert episode.metrics["ended"] == 0.0
    assert any("do that first" in turn.text for turn in episode.turns)


@pytest.mark.parametrize("name", WORLDS)
def test_agreeing_and_leaving_are_no_praise(name: str) -> None:
    cast = env_suite.cast(name)
    for task in catalog.tasks(name, "train"):
        for turn in cast.play(task, "oracle").turns:
            if turn.private.get("rule") in ("agree", "leave"):
                assert turn.private["strategy"] == "be_vague"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"steps": (Step("create_task", {"user_id": "x", "title": "y"}),)}, "refused"),
        ({"steps": (Step("get_users", {}),)}, "doing nothing is its end"),
        ({"told": DRAFT.told * 2}, "two facts are of one kind"),
        (
            {
                "basis": (Component.DB, Component.ENV_ASSERTION),
                "assertions": (
                    {
                        "env_type": "assistant",
                        "func_name": "assert_task_status",
                        "arguments": {"task_id": "task_1", "expected_status": "pending"},
                    },
                ),
            },
            "the gold actions earn",
        ),
    ],
)
def test_a_task_that_is_not_sound_is_not_written(change: dict[str, Any], why: str) -> None:
    drafts.check(DRAFT, DOMAIN, BASES)
    with pytest.raises(UnsoundTaskError, match=why):
        drafts.check(replace(DRAFT, **change), DOMAIN, BASES)
