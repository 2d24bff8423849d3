"""The doctor holds a recipe against worlds, models, memory, keys and services, and tells no key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gate.contract import knobs
from tests.trainer.users.server import Answer, serve
from trainer import cli, recipe_file
from trainer.doctor import examination, models, plan, services, worlds
from trainer.doctor.finding import Check, Level, Patient
from trainer.policy import build, tokenizer
from trainer.recipe import RunConfig

SECRET = "sk-test-0123456789"
SERVED = json.dumps({"data": [{"id": "toy"}, {"id": "other"}]}).encode()


def config(**values: Any) -> RunConfig:
    return recipe_file.from_values({"name": "test", **values})


def levels(check: Check, patient: Patient) -> list[Level]:
    return [finding.level for finding in check(patient)]


def asking(url: str, *, key_env: str = "", model: str = "toy", **environment: str) -> Patient:
    endpoint = {"base_url": url, "model": model, "key_env": key_env}
    users = {"other": "llm", "endpoint": endpoint}
    return Patient(config(users=users), environment=environment)


def told(check: Check, patient: Patient) -> str:
    (finding,) = check(patient)
    assert SECRET not in finding.told
    return f"{finding.level.value}: {finding.told}"


def test_without_a_recipe_only_the_machine_is_looked_at() -> None:
    checks = (worlds.recipe, worlds.tasks, worlds.knobs, models.policy, plan.fit, services.keys)
    assert [levels(check, Patient()) for check in checks] == [[]] * len(checks)


def test_every_fault_of_a_recipe_is_told_at_once() -> None:
    broken = config(rollout={"max_new_tokens": 0, "context_tokens": 0})
    assert levels(worlds.recipe, Patient(broken)) == [Level.FAULT] * 2
    assert levels(worlds.recipe, Patient(config())) == [Level.OK]


def test_worlds_need_tasks_for_both_splits_and_held_out_ones_for_evaluation() -> None:
    good = config(worlds={"travel": {}}, held_out={"search": {}})
    assert levels(worlds.tasks, Patient(good)) == [Level.OK] * 3
    bad = config(worlds={"travel": {"tasks": "nothing-*"}})
    assert levels(worlds.tasks, Patient(bad)) == [Level.FAULT] * 2


def test_a_starting_knob_out_of_its_range_is_a_fault(tmp_path: Path) -> None:
    for name in knobs.FILES:
        (tmp_path / f"{name}.yaml").write_bytes(knobs.render_defaults(name))
    assert levels(worlds.knobs, Patient(config(), knobs=tmp_path)) == [Level.OK]
    bad = config(knobs={"environment": {"max_steps": 61}})
    assert Level.FAULT in levels(worlds.knobs, Patient(bad, knobs=tmp_path))


def test_a_model_that_is_not_there_is_a_fault_that_names_the_part(tmp_path: Path) -> None:
    patient = Patient(config(policy={"kind": "path", "path": str(tmp_path)}))
    assert "holds no config.json" in told(models.policy, patient)
    assert levels(models.chat_template, patient) == [Level.UNKNOWN]


def test_a_model_on_disk_is_fit_to_be_talked_to(tmp_path: Path) -> None:
    tokens = tokenizer.train_tokenizer(["hello there"], vocab_size=300)
    model = build.small_qwen3(len(tokens), hidden=16, layers=1, heads=2, kv_heads=1, seed=0)
    build.save(build.assemble(model, tokens, name="toy"), tmp_path)
    patient = Patient(config(policy={"kind": "path", "path": str(tmp_path)}))
    assert levels(models.policy, patient) == [Level.OK]
    assert levels(models.chat_template, patient) == [Level.OK]


def test_a_plan_is_held_against_the_memory_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemAvailable: 1024 kB\n")
    assert levels(plan.fit, Patient(config(), proc=tmp_path)) == [Level.FAULT]
    (tmp_path / "meminfo").write_text(f"MemAvailable: {64 * 2**20} kB\n")
    assert levels(plan.fit, Patient(config(), proc=tmp_path)) == [Level.OK]


def test_a_sampler_that_plays_ahead_holds_a_copy_of_the_model_and_engines_do_anyway() -> None:
    def copies(**values: Any) -> list[int]:
        planned = plan.plan_of(config(**values))
        assert planned is not None
        return [part.gpu for part in planned.parts if part.name == "sampler's copy"]

    shape = plan.shape_of(config())
    assert shape is not None
    assert copies() == []
    assert copies(rollout={"overlap": True}) == [4 * shape.parameters]
    assert copies(rollout={"overlap": True}, sampler={"kind": "sglang"}) == []


def test_a_model_of_unknown_shape_has_no_plan(tmp_path: Path) -> None:
    patient = Patient(config(policy={"kind": "path", "path": str(tmp_path)}))
    assert levels(plan.fit, patient) == [Level.UNKNOWN]
    assert examination.plan_lines(patient) == ()


def test_a_key_is_told_by_its_variable_alone() -> None:
    asked = asking("http://127.0.0.1:1/v1", key_env="TOY_KEY", TOY_KEY=SECRET)
    assert told(services.keys, asked) == "ok: users.endpoint: TOY_KEY is set"
    missing = asking("http://127.0.0.1:1/v1", key_env="TOY_KEY")
    assert told(services.keys, missing).startswith("fault")
    assert told(services.endpoints, missing).startswith("unknown: users.endpoint: not asked")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(body=SERVED), "ok: users.endpoint: it serves toy"),
        (Answer(404), "unknown: users.endpoint: it is up and lists no models"),
        (Answer(body=b"<html>"), "unknown: users.endpoint: it is up and its list"),
        (Answer(401), "fault: users.endpoint: status 401; check the key"),
        (Answer(500), "fault: users.endpoint: status 500"),
    ],
)
def test_a_service_is_asked_once_for_its_models(answer: Answer, expected: str) -> None:
    with serve(lambda n: answer) as served:
        assert told(services.endpoints, asking(served.url)).startswith(expected)
    assert len(served.requests) == 1


def test_a_model_that_is_not_served_is_told_with_those_that_are() -> None:
    with serve(lambda n: Answer(body=SERVED)) as served:
        found = told(services.endpoints, asking(served.url, model="gone"))
    assert "does not serve 'gone'; it names other, toy" in found


def test_a_service_that_is_down_or_stalls_costs_no_more_than_its_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(services, "DEADLINE_S", 0.2)
    with serve(lambda n: Answer(stall=True)) as served:
        assert "no answer within 0.2 s" in told(services.endpoints, asking(served.url))
    assert "ConnectError" in told(services.endpoints, asking(served.url))


def test_an_evaluation_user_that_is_down_does_not_keep_training_from_starting() -> None:
    users = {"evaluation": {"base_url": "http://127.0.0.1:9/v1", "model": "toy"}}
    assert levels(services.endpoints, Patient(config(users=users))) == [Level.DOUBT]


def judged(url: str, **changes: Any) -> RunConfig:
    judge = {"kind": "endpoint", "endpoint": {"base_url": url, "model": "toy", **changes}}
    return config(worlds={"turtle": {}}, judge=judge)


def test_a_judge_is_looked_at_as_a_served_user_is() -> None:
    with serve(lambda n: Answer(body=SERVED)) as served:
        assert told(services.endpoints, Patient(judged(served.url))).startswith(
            "ok: judge.endpoint: it serves toy"
        )
        gone = Patient(judged(served.url, model="gone"))
        assert "fault: judge.endpoint: it does not serve" in told(services.endpoints, gone)
    key = Patient(judged("http://127.0.0.1:1/v1", key_env="TOY_KEY"), environment={})
    assert told(services.keys, key).startswith("fault: judge.endpoint: environment variable")


def test_a_judge_of_evaluations_that_is_down_keeps_no_training_from_starting() -> None:
    judge = {"evaluation": {"base_url": "http://127.0.0.1:9/v1", "model": "toy"}}
    assert levels(services.endpoints, Patient(config(judge=judge))) == [Level.DOUBT]


def test_the_doctor_says_who_decides_what_a_world_leaves_to_a_judge() -> None:
    by_rules = Patient(config(worlds={"turtle": {}, "travel": {}}))
    assert "ok: turtle: its rules decide; with judge.kind endpoint" in told(worlds.judge, by_rules)
    asked = Patient(judged("http://127.0.0.1:1/v1"))
    assert "turtle: judge.endpoint decides, 'toy': How much of each" in told(worlds.judge, asked)


def test_a_judge_that_no_world_asks_is_a_fault_of_the_recipe() -> None:
    judge = {"kind": "endpoint", "endpoint": {"base_url": "http://127.0.0.1:1/v1", "model": "toy"}}
    found = told(worlds.recipe, Patient(config(judge=judge)))
    assert "none of travel asks a judge" in found and "tau2_retail, turtle" in found
    nameless = judged("http://127.0.0.1:1/v1", model="")
    assert "judge.endpoint.model is empty" in told(worlds.recipe, Patient(nameless))


def test_the_command_ends_with_0_for_a_fit_recipe_and_1_for_a_fault(tmp_path: Path) -> None:
    words = ["doctor", "demo", "--runs", str(tmp_path), "--json"]
    fit = CliRunner().invoke(cli.app, words)
    report = json.loads(fit.stdout.splitlines()[-1])
    assert (fit.exit_code, report["fit"], report["recipe"]) == (0, True, "demo")
    assert {one["check"] for one in report["findings"]} >= {"python", "recipe", "plan"}
    assert report["not_checked"] and report["plan"][0]["name"] == "actor"
    sick = CliRunner().invoke(cli.app, [*words, "--set", "hardware.gpus=99"])
    assert sick.exit_code == 1
    table = CliRunner().invoke(cli.app, words[:-1], env={"COLUMNS": "160"})
    assert "memory plan" in table.output and "not checked" in table.output


def test_a_setting_without_a_recipe_is_misuse() -> None:
    assert CliRunner().invoke(cli.app, ["doctor", "--set", "seed=1"]).exit_code == cli.MISUSE
