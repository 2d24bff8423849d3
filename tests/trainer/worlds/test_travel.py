"""The travel world follows its rules: search, choose once, pay by grade, end when all is chosen."""

from __future__ import annotations

from typing import Any

import pytest

from trainer.episode import StopReason
from trainer.message import Reply, read_action
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.travel import env as travel
from trainer.worlds.travel import verifier
from trainer.worlds.travel.moves import named_aspects, named_options
from trainer.worlds.travel.verifier import Grade, TravelState


@pytest.fixture(scope="module")
def task() -> Task:
    """A task of two aspects, each with a best, a dearer and wrong options."""
    return next(
        entry
        for entry in catalog.tasks("travel", "train")
        if len(entry.payload["dimensions"]) == 2
        and all(len(entry.payload[name]["correct_ids"]) > 1 for name in entry.payload["dimensions"])
    )


def opened(task: Task, **settings: Any) -> travel.TravelEnv:
    env = travel.make(task, settings=settings, seed=3)
    env.start()
    return env


def ids(task: Task, position: int) -> dict[str, str]:
    """Ids of an aspect by grade."""
    part = task.payload[task.payload["dimensions"][position]]
    dearer = next(name for name in part["correct_ids"] if name != part["best_id"])
    wrong = part["options"]["wrong"][0]["id"]
    return {"best": part["best_id"], "correct": dearer, "wrong": wrong}


def test_the_fifth_search_fails_and_the_sixth_works(task: Task) -> None:
    env = opened(task)
    first, second = task.payload["dimensions"]
    requests = [first, "something nice", f"{first} and {second}", first, second, second]
    events = [env.act(read_action(f"[search] {text}")).events for text in requests]
    assert events == [
        ("search_ok",),
        ("search_unclear",),
        ("search_unclear",),
        ("search_repeated",),
        ("search_failed",),
        ("search_ok",),
    ]


def test_a_search_narrows_by_the_wishes_it_and_earlier_ones_name(task: Task) -> None:
    aspect = task.payload["dimensions"][0]
    part = task.payload[aspect]
    best = next(one for one in part["options"]["correct"] if one["id"] == part["best_id"])
    wishes = [str(best[topic]) for _, topic, *_ in part["preferences"]]
    env = opened(task, search_failure_every=0, prompt_style="compact")
    shortlists = [env.act(read_action(f"[search] {aspect} {wish}")) for wish in wishes]
    assert [result.events for result in shortlists] == [("search_ok",), ("search_narrowed",)]
    last = named_options(shortlists[-1].observation)
    assert last[0] == part["best_id"]
    assert set(last) <= set(part["correct_ids"])
    again = env.act(read_action(f"[search] {aspect} {wishes[0]}"))
    assert again.events == ("search_repeated",)


def test_searches_never_fail_where_the_setting_is_zero(task: Task) -> None:
    env = opened(task, search_failure_every=0)
    events = {env.act(read_action("[search] nothing")).events for _ in range(12)}
    assert events == {("search_unclear",)}


def test_an_aspect_is_chosen_once(task: Task) -> None:
    env, of = opened(task), ids(task, 0)
    first = env.act(read_action(f"[answer] {of['wrong']}"))
    second = env.act(read_action(f"[answer] {of['best']}"))
    assert (first.events, first.reward, first.stop) == (("choice_wrong",), 0.0, None)
    assert (second.events, second.reward, second.stop) == (("choice_repeated",), 0.0, None)


def test_a_choice_withdraws_the_wishes_of_its_aspect(task: Task) -> None:
    env, aspect = opened(task), task.payload["dimensions"][0]
    result = env.act(read_action(f"[answer] {ids(task, 0)['best']}"))
    assert set(result.withdrawn) == {
        fact.id for fact in task.facts if fact.kind.startswith(f"{aspect}.")
    }


def test_a_wish_of_a_chosen_aspect_is_not_learnt(task: Task) -> None:
    env = opened(task)
    withdrawn = env.act(read_action(f"[answer] {ids(task, 0)['best']}")).withdrawn
    assert env.hear(Reply("late", revealed=withdrawn)).events == ("off_topic",)
    assert env.verdict().metrics["wishes_learnt"] == 0.0


def test_rewards_follow_the_grades_and_add_up_to_one(task: Task) -> None:
    env = opened(task)
    first = env.act(read_action(f"[answer] {ids(task, 0)['correct']}"))
    last = env.act(read_action(f"[answer] {ids(task, 1)['best']}"))
    assert first.reward == pytest.approx(0.4)
    assert last.reward == pytest.approx(0.5)
    assert last.stop is StopReason.FAILED
    assert env.verdict().metrics["travel_choice"] == pytest.approx(0.9)


def test_choosing_all_best_solves(task: Task) -> None:
    env = opened(task)
    env.act(read_action(f"[answer] {ids(task, 0)['best']}"))
    last = env.act(read_action(f"[answer] {ids(task, 1)['best']}"))
    assert last.stop is StopReason.SOLVED
    assert env.verdict().success == 1.0


def test_a_wrong_choice_does_not_keep_an_episode_from_ending(task: Task) -> None:
    env = opened(task)
    env.act(read_action(f"[answer] {ids(task, 0)['wrong']}"))
    assert env.act(read_action(f"[answer] {ids(task, 1)['best']}")).stop is StopReason.FAILED


@pytest.mark.parametrize("text", ["F1 and F2", "the cheapest one", "Z9"])
def test_an_answer_that_names_no_single_option_is_malformed(task: Task, text: str) -> None:
    result = opened(task).act(read_action(f"[answer] {text}"))
    assert result.events == ("malformed",)
    assert result.observation


def test_the_published_choice_number(task: Task) -> None:
    # Set 22, answers best, wrong, best again refused: (1.0 + 0) / 2.
    first, second = task.payload["dimensions"]
    state = TravelState(chosen={first: Grade.BEST, second: Grade.WRONG})
    assert verifier.verdict(task, state).metrics["travel_choice"] == pytest.approx(0.5)


def test_three_aspects_all_best_succeed_despite_rounding() -> None:
    task = next(
        one for one in catalog.tasks("travel", "train") if len(one.payload["dimensions"]) == 3
    )
    env = opened(task)
    total = sum(
        env.act(read_action(f"[answer] {task.payload[name]['best_id']}")).reward
        for name in task.payload["dimensions"]
    )
    assert total == pytest.approx(1.0, abs=1e-9)
    assert env.verdict().success == 1.0


def test_type_and_reason_are_never_shown(task: Task) -> None:
    record = task.to_json()
    aspect = task.payload["dimensions"][0]
    part = record["payload"][aspect]
    groups = {
        group: [{**option, "type": "correct", "reason": "SECRET"} for option in options]
        for group, options in part["options"].items()
    }
    payload = {**record["payload"], aspect: {**part, "options": groups}}
    for style in ("compact", "full"):
        env = opened(Task(task.id, "travel", "", "", task.facts, payload), prompt_style=style)
        assert "SECRET" not in env.act(read_action(f"[search] {aspect}")).observation


def test_the_order_of_options_comes_from_the_seed(task: Task) -> None:
    aspect = task.payload["dimensions"][0]

    def listing(seed: int) -> str:
        env = travel.make(task, settings={}, seed=seed)
        env.start()
        return env.act(read_action(f"[search] {aspect}")).observation

    assert listing(1) == listing(1)
    assert len({listing(seed) for seed in range(5)}) > 1


def test_an_unknown_prompt_style_is_refused(task: Task) -> None:
    with pytest.raises(ValueError, match="choose compact or full"):
        travel.make(task, settings={"prompt_style": "terse"}, seed=0)


def test_aspects_and_options_are_read_from_words() -> None:
    payload = {"dimensions": ["rental_car", "hotel"]}
    assert named_aspects(payload, "Rental cars, please") == ["rental_car"]
    assert named_aspects(payload, "a HOTEL and a car") == ["rental_car", "hotel"]
    assert named_aspects(payload, "scar tissue") == []
    assert named_options("I take f-7 (F7).") == ["F7"]
    assert named_options("R2D2") == []
