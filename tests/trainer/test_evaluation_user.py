"""A served model may play the user of an evaluation: on request, labelled, and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gate.contract.paths import RunPaths
from tests import jobs
from tests.nursery import Nursery
from tests.trainer.users.server import Answer, completion, serve
from trainer import evaluation, examination, recipe_file
from trainer.evaluation_user import AskedUser
from trainer.recipe import EndpointConfig, UsersConfig
from trainer.run_folder import LaunchError
from trainer.users.spending import Meter

REPLY = json.dumps({"thought": "secret", "strategy": "confirm", "message": "A cheap one, please."})
USAGE = {"prompt_tokens": 50, "completion_tokens": 7}


@pytest.fixture(scope="module")
def run(seedling: Path, tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    return jobs.copy_run(seedling, tmp_path_factory.mktemp("asked") / "run")


def asked(nursery: Nursery, run: RunPaths, place: Path, *words: str) -> dict[str, Any]:
    told = nursery.run("evaluate_command", place, run.root, "--limit", "2", "--json", *words)
    assert told.returncode == 0, told.told()
    return json.loads(told.told().splitlines()[-1])


def served(url: str) -> tuple[str, ...]:
    settings = (f"base_url={url}", "model=toy", "price={prompt_usd: 1.0, completion_usd: 2.0}")
    return ("--user", "endpoint", *(word for one in settings for word in ("--endpoint", one)))


def test_a_served_user_is_asked_coldly_and_its_result_says_who_it_was_and_what_it_cost(
    nursery: Nursery, run: RunPaths, tmp_path: Path
) -> None:
    with serve(lambda n: completion(REPLY, USAGE)) as server:
        result = asked(nursery, run, tmp_path / "evaluations", *served(server.url))
    assert result["user"] == "endpoint toy"
    assert result["knobs_digest"] != evaluation.pinned_knobs(["travel"]).digest
    assert result["endpoint"]["requests"] == len(server.requests)
    assert {request["temperature"] for request in server.requests} <= {0.0}
    episodes = next((tmp_path / "evaluations").rglob("episodes.jsonl")).read_text("utf-8")
    assert all(json.loads(line)["arm"] == "llm" for line in episodes.splitlines())


def test_a_user_that_fails_costs_its_episodes_and_is_no_zero(
    nursery: Nursery, run: RunPaths, tmp_path: Path
) -> None:
    with serve(lambda n: Answer(400)) as server:
        result = asked(nursery, run, tmp_path / "evaluations", *served(server.url))
    assert result["finished"] + result["quarantined"] == 2
    assert (result["success"] is None) == (result["finished"] == 0)


def test_without_a_word_the_evaluation_stays_pinned(
    nursery: Nursery, run: RunPaths, tmp_path: Path
) -> None:
    result = asked(nursery, run, tmp_path / "evaluations")
    assert (result["user"], result["endpoint"]) == ("symbolic", {})
    assert result["knobs_digest"] == evaluation.pinned_knobs(["travel"]).digest


def test_a_recipe_without_a_service_says_how_to_name_one() -> None:
    with pytest.raises(LaunchError, match="--endpoint base_url="):
        examination.asked(UsersConfig())


def test_a_key_that_is_not_there_is_told_before_anything_is_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TOY_KEY", raising=False)
    users = UsersConfig(evaluation=EndpointConfig("http://127.0.0.1:1/v1", "toy", "TOY_KEY"))
    with pytest.raises(LaunchError, match=r"users\.evaluation: .*TOY_KEY is not set"):
        examination.asked(users)


def test_settings_stand_over_the_recipe_and_an_unknown_one_is_refused() -> None:
    users = UsersConfig(evaluation=EndpointConfig("http://127.0.0.1:1/v1", "toy"))
    assert examination.asked(users, ["model=other", "limit.tokens=9"]).label == "endpoint other"
    with pytest.raises(recipe_file.RecipeError, match="unknown setting 'modle'"):
        examination.asked(users, ["modle=x"])


def test_the_label_does_not_say_where_the_model_is_served() -> None:
    user = AskedUser(EndpointConfig("http://10.0.0.1:1/v1", "toy"), Meter())
    assert "10.0.0.1" not in user.label
