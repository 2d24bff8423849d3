"""A served model may judge an evaluation: on request, labelled, and counted."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from trainer import cli, evaluation, examination, recipe_file
from trainer.evaluation_judge import RULES, AskedJudge
from trainer.recipe import JudgeConfig, JudgeEndpoint
from trainer.run_folder import LaunchError
from trainer.users.spending import Meter, Prices, Spent

SERVED = JudgeConfig(evaluation=JudgeEndpoint("http://10.0.0.1:1/v1", "toy"))


def result(judge: AskedJudge | None) -> evaluation.EvaluationResult:
    return evaluation.result(
        [],
        [],
        policy="p",
        policy_version=1,
        num_trials=1,
        decoding="greedy",
        world_digest="w",
        judge=judge,
    )


def test_without_a_word_rules_decide_and_the_result_says_so() -> None:
    assert (result(None).judge, result(None).judge_endpoint) == (RULES, {})


def test_a_judged_result_says_who_judged_and_what_it_cost_and_not_where() -> None:
    asked = AskedJudge(SERVED.evaluation, Meter(Prices(1.0, 2.0)))
    asked.meter.add(Spent(requests=1, prompt_tokens=100, completion_tokens=10))
    told = result(asked)
    assert told.judge == "endpoint toy"
    assert told.judge_endpoint["usd"] == 0.00012
    assert "10.0.0.1" not in told.judge


def test_the_judge_of_an_evaluation_stands_in_place_of_the_judge_of_training() -> None:
    trained = JudgeConfig("endpoint", JudgeEndpoint("http://10.0.0.2:1/v1", "other"))
    asked = examination.asked_judge(SERVED, ["max_tokens=99"])
    assert asked.of(trained).kind == "endpoint"
    assert asked.of(trained).endpoint == JudgeEndpoint("http://10.0.0.1:1/v1", "toy", max_tokens=99)


def test_a_recipe_without_a_service_says_how_to_name_one() -> None:
    with pytest.raises(LaunchError, match="--judge-endpoint base_url="):
        examination.asked_judge(JudgeConfig())


def test_a_key_or_model_that_is_not_there_is_told_before_anything_is_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TOY_KEY", raising=False)
    with pytest.raises(LaunchError, match=r"judge\.evaluation: .*TOY_KEY is not set"):
        examination.asked_judge(SERVED, ["key_env=TOY_KEY"])
    with pytest.raises(LaunchError, match=r"judge\.evaluation\.model is empty"):
        examination.asked_judge(SERVED, ["model=''"])
    with pytest.raises(recipe_file.RecipeError, match="unknown setting 'style'"):
        examination.asked_judge(SERVED, ["style=json"])


def test_settings_of_a_judge_that_is_not_asked_are_misuse() -> None:
    words = ["evaluate", "--judge-endpoint", "model=toy"]
    told = CliRunner().invoke(cli.app, words, env={"COLUMNS": "160"})
    assert told.exit_code == cli.MISUSE
    assert "how a judge is reached" in told.output
