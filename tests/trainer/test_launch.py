"""Whatever can be wrong with a launch is found before anything is written."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files, knobs, ledger
from gate.contract.findings import Refused
from gate.contract.paths import RunPaths
from tests import live_run, tiny_run
from trainer import launch, recipe_file, run_folder
from trainer.launch import LaunchError, LaunchPlan
from trainer.recipe import RunConfig
from trainer.recipe_file import RecipeError
from trainer.worlds.declaration import NEVER_EDITABLE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_run.write_recipe(tmp_path / "start")
    return tmp_path


def plan(folder: Path, *overrides: str, **other: Any) -> LaunchPlan:
    config = recipe_file.load(str(folder / "start" / "tiny.yaml"), overrides)
    arguments = {
        "run_id": "first",
        "runs": folder / "runs",
        "knob_dir": folder / "start" / "knobs",
        **other,
    }
    return launch.plan(config, **arguments)


def create(folder: Path, **other: Any) -> RunPaths:
    return launch.create(plan(folder, **other), now=1.0)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("worlds={travle: {}}", "unknown world 'travle'; the recipe may name "),
        ("worlds.travel.tasks=giant-*", "'giant-*' matches none of"),
        ("worlds.travel.source=/nowhere", "worlds.travel: "),
        ("policy.size.heads=3", "policy.size.heads 3 is not a multiple of kv_heads 2"),
        ("policy.size.hidden=0", "policy.size.hidden is 0; it must be at least 1"),
        ("policy.size.head_dim=15", "rotary positions need an even number"),
        ("policy.size.vocab_size=100", "policy.size.vocab_size is 100"),
        ("policy.size.max_positions=64", "is below rollout.context_tokens 400; raise it"),
        ("policy={kind: path, path: /nowhere}", "policy.path: no model at /nowhere"),
        ("policy.warm_start.players={genius: 1}", "travel has no player 'genius'; it has"),
        ("policy.warm_start.players={oracle: 0}", "give each player a share"),
        ("policy.warm_start.episodes=0", "episodes 0 must be at least 1"),
        ("learner.credit=magic", "learner.credit is 'magic'; it must be one of"),
        ("learner.temperature=0", "learner.temperature is 0"),
        ("checkpoint.every=0", "checkpoint.every is 0; it must be at least 1"),
        ("checkpoint.keep=0", "checkpoint.keep is 0; it must be at least 1"),
        ("checkpoint.min_free_mb=1e12", "free some space or lower it"),
        ("rollout.max_new_tokens=0", "rollout.max_new_tokens is 0; it must be at least 1"),
        ("users.other=llm", "users.endpoint.model is empty"),
        ("users={other: llm, endpoint: {model: m}}", "endpoint url must be http(s)"),
        ("users={other: local, local_path: /nowhere}", "users.local_path: no model at /nowhere"),
        ("knobs={usr: {}}", "knobs.usr: no such knob file"),
    ],
)
def test_a_recipe_that_asks_for_what_is_not_there_is_refused(
    folder: Path, override: str, message: str
) -> None:
    overrides = [override]
    if override.startswith("policy.size.heads"):
        overrides.append("policy.size.kv_heads=2")
    with pytest.raises(LaunchError) as refused:
        plan(folder, *overrides)
    assert message in str(refused.value)
    assert not (folder / "runs").exists()


def test_a_key_that_is_not_set_is_named_before_the_start(folder: Path) -> None:
    endpoint = "{model: m, base_url: http://localhost:1/v1, key_env: EAU_TEST_NO_SUCH_KEY}"
    with pytest.raises(LaunchError, match="EAU_TEST_NO_SUCH_KEY is not set"):
        plan(folder, f"users={{other: llm, endpoint: {endpoint}}}")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("knobs={user: {max_revels: 3}}", "max_revels"),
        ("knobs={user: {max_reveals: 300}}", "user.max_reveals is 300"),
        ("knobs={reward: {task_weight: 0, conversation_weight: 0}}", "reward"),
    ],
)
def test_starting_values_that_the_gate_would_refuse_are_refused(
    folder: Path, override: str, message: str
) -> None:
    with pytest.raises(Refused, match=message):
        plan(folder, override)
    assert not (folder / "runs").exists()


def spoil_nothing_there(start: Path) -> str:
    start.rename(start.with_name("elsewhere"))
    return "No such file or directory; a run needs a folder"


def spoil_a_file_missing(start: Path) -> str:
    (start / "reward.yaml").unlink()
    return "reward.yaml: No such file or directory; a run needs a folder"


def spoil_a_directory_in_its_place(start: Path) -> str:
    (start / "reward.yaml").unlink()
    (start / "reward.yaml").mkdir()
    return "reward.yaml: Is a directory"


@pytest.mark.parametrize(
    "spoil", [spoil_nothing_there, spoil_a_file_missing, spoil_a_directory_in_its_place]
)
def test_a_starting_set_that_is_not_there_is_not_replaced_by_defaults(
    folder: Path, spoil: Any
) -> None:
    message = spoil(folder / "start" / "knobs")
    with pytest.raises(LaunchError) as refused:
        plan(folder)
    assert message in str(refused.value)
    assert not (folder / "runs").exists()


def test_a_starting_file_that_is_broken_is_refused_with_its_line(folder: Path) -> None:
    path = folder / "start" / "knobs" / "agent.yaml"
    path.write_bytes(live_run.with_value(path.read_bytes(), "gae_lambda", 1.5))
    with pytest.raises(Refused) as refused:
        plan(folder)
    assert refused.value.findings[0].path == "agent.gae_lambda"
    assert refused.value.findings[0].file == str(path)
    assert refused.value.findings[0].line is not None
    assert not (folder / "runs").exists()


@pytest.mark.parametrize("run_id", ["latest", "..", ".", ".hidden", "", "a/../../b"])
def test_a_run_is_named_by_a_plain_name(folder: Path, run_id: str) -> None:
    with pytest.raises(LaunchError):
        plan(folder, run_id=run_id)


def test_nothing_of_an_existing_run_is_written_over(folder: Path) -> None:
    run = create(folder)
    before = {path: path.read_bytes() for path in run.root.rglob("*") if path.is_file()}
    with pytest.raises(LaunchError, match="exists; choose another name with --run-id"):
        plan(folder)
    assert {path: path.read_bytes() for path in run.root.rglob("*") if path.is_file()} == before


def test_latest_names_the_newest_run_in_one_rename(folder: Path) -> None:
    create(folder)
    create(folder, run_id="second")
    latest = folder / "runs" / "latest"
    assert latest.is_symlink() and latest.readlink() == Path("second")
    assert run_folder.find_run("latest", folder / "runs").root.name == "second"
    assert sorted(path.name for path in (folder / "runs").iterdir()) == [
        "first",
        "latest",
        "second",
    ]


def test_a_folder_in_the_place_of_latest_is_told_and_left_alone(folder: Path) -> None:
    (folder / "runs" / "latest").mkdir(parents=True)
    with pytest.raises(LaunchError, match="rename it"):
        plan(folder)
    assert [path.name for path in (folder / "runs").iterdir()] == ["latest"]


def test_a_launch_record_gives_back_the_recipe(folder: Path) -> None:
    planned = plan(folder)
    run = launch.create(planned, now=1.0)
    assert run_folder.read_launch(run) == planned.config
    assert isinstance(planned.config, RunConfig)


def test_a_run_holds_its_knobs_and_its_world_and_nothing_of_the_answers(folder: Path) -> None:
    run = create(folder)
    assert ledger.verify(run.ledger).ok
    values = knobs.from_values(ledger.launch_values(run.ledger), worlds=("travel",))
    assert values == plan(folder, run_id="other").knobs
    assert values.get("environment.max_steps") == 4
    copied = {path.name for path in (run.world / "0000" / "travel").iterdir()}
    assert {"env.py", "verifier.py", "user.yaml", "world.yaml"} <= copied
    assert not copied & set(NEVER_EDITABLE)
    for folder_ in (run.candidate, run.proposals, run.experiments, run.episodes):
        assert folder_.is_dir()


def test_a_changed_world_of_the_launch_is_noticed(folder: Path) -> None:
    run = create(folder)
    run_folder.check_world(run)
    with (run.world / "0000" / "travel" / "verifier.py").open("a") as file:
        file.write("# kinder\n")
    with pytest.raises(LaunchError, match="is not what the run was launched with"):
        run_folder.check_world(run)


@pytest.mark.parametrize(
    "content", [b"", b"- 1\n", b"config: 3\n", b"a: [", b"\xff\xfe", b"config: {seeds: 3}\n"]
)
def test_a_damaged_launch_record_is_one_clear_error(folder: Path, content: bytes) -> None:
    run = create(folder)
    files.write_whole(run.launch, content)
    with pytest.raises((LaunchError, RecipeError), match=r"run\.yaml"):
        run_folder.read_launch(run)


def test_a_run_that_is_not_there_names_those_that_are(folder: Path) -> None:
    create(folder)
    with pytest.raises(LaunchError, match=r"no run 'third'; known: first$"):
        run_folder.find_run("third", folder / "runs")


def test_every_field_of_a_recipe_is_in_the_launch_record(folder: Path) -> None:
    planned = plan(folder)
    values = recipe_file.to_values(planned.config)
    assert set(values) == {field.name for field in dataclasses.fields(RunConfig)}
