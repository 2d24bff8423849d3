"""Our own tau tasks are made as they stand on disk, enough for each desk; none ends by itself."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance import env_suite
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.tau.desks import DESKS
from trainer.worlds.tau.tasks import generate
from trainer.worlds.tau2.case import Component, read_case


def own() -> list[Task]:
    return [task for split in catalog.SPLITS for task in catalog.tasks("tau", split)]


def test_the_files_are_what_the_generator_writes(tmp_path: Path) -> None:
    generate.main(["--out", str(tmp_path)])
    folder = catalog.world("tau").folder
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(written) == 11
    for path in written:
        assert (tmp_path / path).read_bytes() == (folder / path).read_bytes(), path


def test_each_desk_has_twenty_tasks_to_train_on_and_ten_others_to_evaluate() -> None:
    for split, least in (("train", 20), ("evaluation", 10)):
        desks = Counter(task.payload["domain"] for task in catalog.tasks("tau", split))
        assert set(desks) == set(DESKS) and min(desks.values()) >= least
    for task in own():
        case = read_case(task.payload["record"])
        assert case.basis == (Component.DB, Component.COMMUNICATE)
        assert case.actions and task.facts


def test_both_splits_are_about_different_people_and_the_canary_stands_in_one() -> None:
    folder = catalog.world("tau").folder
    for domain in DESKS:
        shelves = [
            json.loads((folder / shelf / f"{domain}_db.json").read_text())
            for shelf in ("tasks", "evaluation")
        ]
        assert not set(shelves[0]["users"]) & set(shelves[1]["users"])
    for split in catalog.SPLITS:
        for task in catalog.tasks("tau", split):
            assert (task.extra.get("canary") == generate.CANARY) == (split == "evaluation")


@pytest.mark.parametrize("player", ["idle", "closing", "handing_over"])
def test_tau2_bench_384_neither_doing_nothing_nor_handing_over_earns_anything(player: str) -> None:
    cast = env_suite.cast("tau")
    for task in own():
        assert cast.play(task, player).total_reward == 0.0, task.id


def test_a_hasty_agent_is_between_nothing_and_everything() -> None:
    cast = env_suite.cast("tau")
    tasks = catalog.tasks("tau", "train")
    won = sum(cast.play(task, "hasty", seed=seed).success or 0 for seed, task in enumerate(tasks))
    assert 0 < won < len(tasks)


def test_the_expert_needs_no_more_than_twelve_of_the_sixteen_turns() -> None:
    cast = env_suite.cast("tau")
    longest = max(
        sum(turn.speaker == "agent" for turn in cast.play(task, "oracle").turns) for task in own()
    )
    assert longest <= 12


@pytest.mark.parametrize("domain", list(DESKS))
def test_no_tool_that_a_policy_names_is_missing_and_a_hand_over_has_no_last_words(
    domain: str,
) -> None:
    policy = generate.POLICIES[domain]
    named = {word.strip("`.,") for word in policy.split() if "`" in word and "_" in word}
    assert "transfer_to_human_agents" in named and named <= set(DESKS[domain].agent.tools)
    assert "which ends the conversation" in policy and "HOLD" not in policy
    with pytest.raises(ValueError, match="tells of the hand-over 0 times"):
        generate.policy(policy)


def test_a_customer_with_two_wishes_opens_with_both_and_says_which_is_meant() -> None:
    pairs = [task for task in own() if "-and-" in task.id]
    assert len(pairs) >= 10
    for task in pairs:
        assert "And besides, " in task.opening
        second = [fact for fact in task.facts if fact.kind.startswith("second_")]
        assert second and all("second matter" in fact.statement for fact in second)
        assert len({fact.statement for fact in task.facts}) == len(task.facts)
        written = [
            action.call.name
            for action in read_case(task.payload["record"]).actions
            if DESKS[task.payload["domain"]].agent.tools[action.call.name].mutates
        ]
        assert len(written) == 2
