"""The function world pays what FunctionGym pays, and its guard cannot be walked around."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from trainer.episode import StopReason
from trainer.message import read_action
from trainer.worlds import catalog
from trainer.worlds.function import env as function
from trainer.worlds.function import formula, generate, loader, verifier
from trainer.worlds.seam import StepResult

RULE = {"id": "t", "rule": "a * b + c - d", "test_case": [3, 2, 5, 1], "expected_result": 10.0}


def moves(*texts: str, style: str = "full", **changes: Any) -> list[StepResult]:
    """What the world answers to messages, in one episode."""
    env = function.make(loader.task(RULE | changes), settings={"prompt_style": style}, seed=0)
    env.start()
    return [env.act(read_action(text)) for text in texts]


def event(text: str, **changes: Any) -> str:
    """The one event of a first message."""
    (result,) = moves(text, **changes)
    return result.events[0]


@pytest.mark.parametrize("disguise", ["3 2 5 1", "3.0000001 2 5 1", "3.0 2.00 5e0 1.00004"])
def test_fault_16_the_test_case_is_refused_after_rounding(disguise: str) -> None:
    (result,) = moves(f"[action] {disguise}")
    assert result.events == ("call_refused",)
    assert "10" not in result.observation


def test_fault_16_a_number_beside_the_test_case_is_no_whole_number() -> None:
    # 3.001 would give the value away to three decimals.
    assert event("[action] 3.001 2 5 1") == "call_refused"


def test_fault_scientific_notation_is_one_number() -> None:
    assert formula.numbers_in("1e3 -2.5E-1 +.5 7.") == [1000.0, -0.25, 0.5, 7.0]
    (result,) = moves("[action] 1e1 2 3 4", style="compact")
    assert result.observation == "19"
    assert event("[action] 1e3 2 3") == "call_refused"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("a=1, b=-2, c=3 and d=4", [1, -2, 3, 4]), ("3-4", [3, 4]), ("x2 3rd", [])],
)
def test_numbers_stand_alone(text: str, numbers: list[float]) -> None:
    assert formula.numbers_in(text) == numbers


@pytest.mark.parametrize(
    ("answer", "right"), [(2.0000005, True), (2.00001, False), (2.000001, True), (2.0000011, False)]
)
def test_an_answer_is_right_within_a_millionth(answer: float, right: bool) -> None:
    assert verifier.is_right(answer, 2.0) is right


def test_the_sum_of_rewards_is_one_and_the_right_answer_ends() -> None:
    results = moves("[search] test", "[action] 1 1 1 1", "[answer] 3", "[answer] 10")
    assert [result.reward for result in results] == [0.0, 0.0, 0.0, 1.0]
    assert [result.stop for result in results] == [None, None, None, StopReason.SOLVED]
    assert "3 2 5 1" in results[0].observation
    assert "1" in results[1].observation


def test_finishing_ends_and_reveals_nothing() -> None:
    (result,) = moves("[finish]")
    assert result.stop is StopReason.FAILED
    assert "10" not in result.observation


def test_a_division_by_zero_is_told_and_pays_nothing() -> None:
    changes = {"rule": "a / b + c - d", "expected_result": 5.5}
    (result,) = moves("[action] 1 0 3 4", **changes)
    assert result.events == ("call_undefined",)


@pytest.mark.parametrize("text", ["[action] 1e300 1 1 1", "[action] 1e999 1 1 1", "[action] 1 2 3"])
def test_what_the_rule_cannot_take_is_refused(text: str) -> None:
    assert event(text) == "call_refused"


@pytest.mark.parametrize("text", ["[answer] nan", "[answer] inf", "[answer] ten", "[answer] 1 2"])
def test_what_is_no_number_is_no_answer(text: str) -> None:
    assert event(text) == "answer_unreadable"


@pytest.mark.parametrize(
    "rule",
    ["__import__('os')", "a.b", "a if b else c", "e + a", "a % b", "(" * 300, "[a]", ""],
)
def test_a_rule_that_is_no_formula_is_refused(rule: str) -> None:
    with pytest.raises(ValueError):
        formula.evaluate(rule, (1, 2, 3, 4))


def test_a_formula_knows_powers() -> None:
    assert formula.evaluate("(a - b) ^ 2 + -c * d ** 2", (1, 3, 2, 3)) == -14.0


@pytest.mark.parametrize("rule", ["a ** b ** c ** d", "(a - b) ** (b / a / c)", "a / (c - c)"])
def test_a_value_that_no_number_holds_is_undefined(rule: str) -> None:
    with pytest.raises(formula.Undefined):
        formula.evaluate(rule, (9, 99, 999, 9999))


def test_our_tasks_are_what_the_generator_makes() -> None:
    for split, text in generate.texts().items():
        assert loader.BUILT_IN[split].read_text() == text
    assert len(catalog.tasks("function", "train")) == 40
    assert len(catalog.tasks("function", "evaluation")) == 12


def test_the_player_of_straight_lines_finds_some_rules_and_not_all() -> None:
    cast = env_suite.cast("function")
    tasks = catalog.tasks("function", "train")
    solved = sum(cast.play(task, "hasty").success or 0.0 for task in tasks) / len(tasks)
    assert 0.05 < solved < 0.6


def test_the_prompt_names_no_action_that_the_world_does_not_know() -> None:
    for style in env_suite.STYLES:
        opening = function.make(loader.task(RULE), settings={"prompt_style": style}, seed=0).start()
        assert all(f"[{choice}]" in opening.system for choice in ("action", "search", "answer"))
        assert "a * b" not in opening.system + opening.user


@pytest.mark.parametrize("split", catalog.SPLITS)
def test_the_expert_reaches_everything_on_every_real_task(test_data: Path, split: str) -> None:
    cast = env_suite.cast("function")
    for task in catalog.tasks("function", split, test_data / "userrl"):
        env_suite.is_reachable(cast, task, "full")
    env_suite.has_a_floor(cast, task)


def test_the_real_splits_are_the_published_ones(test_data: Path) -> None:
    pytest.importorskip("pyarrow", reason="the ids of the split are in a parquet file")
    train, held_out = (
        catalog.tasks("function", split, test_data / "userrl") for split in catalog.SPLITS
    )
    assert (len(train), len(held_out)) == (460, 78)
    assert not {task.id for task in train} & {task.id for task in held_out}


def test_without_a_listed_split_a_digest_decides_and_says_so(tmp_path: Path) -> None:
    records = [{**RULE, "id": f"r{number}"} for number in range(60)]
    (tmp_path / "functions.json").write_text(json.dumps(records))
    parts = [catalog.tasks("function", split, tmp_path) for split in catalog.SPLITS]
    assert len(parts[0]) + len(parts[1]) == 60
    assert 0 < len(parts[1]) < 25
    assert all("split by digest" in task.provenance for task in parts[0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "must be a list"),
        ('[{"id": "x"}]', "task 0 cannot be used"),
        (json.dumps([RULE | {"expected_result": 11}]), "the rule gives 10.0"),
        (json.dumps([RULE | {"rule": "open('x')"}]), "holds more than"),
    ],
)
def test_an_unusable_file_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "functions.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        for split in catalog.SPLITS:
            catalog.tasks("function", split, path)
