"""A run that trains adapters resumes after a kill to the bit, exports whole, and knows its base."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from gate.contract.paths import RunPaths
from tests import jobs, tiny_run
from tests.nursery import Nursery
from trainer import assembly, export
from trainer.policy import frozen, lora, skeleton
from trainer.ppo.weights import read_tensors

peft = pytest.importorskip("peft", reason="needs peft: pip install -e '.[lora]'")

RECIPE = "extends: tiny\nname: tiny-lora\npolicy:\n  lora: {rank: 4, alpha: 8.0}\n"


def plant(nursery: Nursery, folder: Path, recipe: str, name: str) -> Path:
    """Launch a run that stops before its first step."""
    if not (folder / "tiny.yaml").exists():
        tiny_run.write_recipe(folder)
    path = folder / f"{name}.yaml"
    path.write_text(recipe, "utf-8")
    child = nursery.run("plant", path, folder / "runs", name, folder / "knobs")
    assert child.returncode == 0, child.told()
    return folder / "runs" / name


@pytest.fixture(scope="module")
def planted(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(nursery, tmp_path_factory.mktemp("lora"), RECIPE, "adapted")


@pytest.fixture(scope="module")
def whole(nursery: Nursery, planted: Path, tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    """The run in one go."""
    run = jobs.copy_run(planted, tmp_path_factory.mktemp("whole") / "run")
    child = nursery.run("resume", run.root)
    assert child.returncode == 0, child.told()
    return run


@pytest.fixture(scope="module")
def exported(whole: RunPaths, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("exported") / "model"
    export.export(whole, target, dtype="float32")
    return target


def logits(model: PreTrainedModel) -> torch.Tensor:
    with torch.no_grad():
        return model(input_ids=torch.tensor([[5, 17, 203, 8, 8, 99]])).logits


def test_a_killed_run_goes_on_and_all_steps_equal_those_of_the_run_in_one_go(
    nursery: Nursery, planted: Path, whole: RunPaths, tmp_path: Path
) -> None:
    run = jobs.copy_run(planted, tmp_path / "run")
    child = nursery.run("resume", run.root, die_at=["steps.jsonl", 8])
    assert child.returncode == -signal.SIGKILL, child.told()
    child = nursery.run("resume", run.root)
    assert child.returncode == 0, child.told()
    assert tiny_run.told_steps(run) == tiny_run.told_steps(whole)
    assert tiny_run.events(run, "resume_difference") == []


def test_checkpoints_hold_adapters_critic_parts_and_the_base_that_was_made_in_the_run(
    whole: RunPaths,
) -> None:
    first, last = whole.checkpoint(0), whole.checkpoint(10)
    for part in ("actor", "actor_optimizer", "critic", "critic_optimizer"):
        names = read_tensors(last / "learner" / f"{part}.safetensors")
        assert names and all("lora_" in one or one.startswith("head.") for one in names), part
    weights = Path("policy") / frozen.WEIGHTS
    assert (first / weights).read_bytes() == (last / weights).read_bytes(), "the base moved"
    manifest = json.loads((last / "manifest.json").read_text("utf-8"))
    assert weights.as_posix() in manifest["parts"]


def test_the_distance_to_the_base_is_zero_until_the_first_update(whole: RunPaths) -> None:
    told = [record["learner"]["kl"] for record in tiny_run.told_steps(whole)]
    assert told[0] == 0.0 and min(told[1:]) > 0.0


def test_the_export_is_a_plain_model_with_the_live_policys_logits(
    whole: RunPaths, exported: Path
) -> None:
    live = assembly.policy_of(whole.checkpoint(10)).model
    loaded = AutoModelForCausalLM.from_pretrained(exported, dtype=torch.float32)
    assert not lora.adapted(loaded)
    torch.testing.assert_close(logits(loaded), logits(live), rtol=1e-5, atol=1e-5)
    assert not torch.allclose(logits(loaded), logits(lora.without_adapters(live)), atol=1e-5)


def test_the_adapter_alone_is_refused_where_there_is_none_and_written_where_there_is(
    whole: RunPaths, tmp_path: Path
) -> None:
    export.export(whole, tmp_path / "adapter", dtype="float32", adapter_only=True)
    names = {path.name for path in (tmp_path / "adapter").iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors"} <= names
    assert "config.json" not in names


def test_a_run_on_a_model_in_a_folder_names_it_and_refuses_another_in_its_place(
    nursery: Nursery, planted: Path, exported: Path, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    for path in exported.iterdir():
        (base / path.name).write_bytes(path.read_bytes())
    recipe = RECIPE + f"  kind: path\n  path: {base}\ntotal_steps: 2\n"
    root = plant(nursery, tmp_path, recipe, "onbase")
    run = RunPaths(root)
    told = json.loads((run.checkpoint(0) / "policy" / frozen.FILE).read_text("utf-8"))
    assert told["base"] == str(base) and told["digest"] == frozen.digest_of(base)
    assert not (run.checkpoint(0) / "policy" / frozen.WEIGHTS).exists()
    assert skeleton.load(run.checkpoint(0) / "policy").adapted is not None

    weights = base / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    child = nursery.run("command", "resume", root)
    assert child.returncode == 2
    assert "is not the one that the adapters were trained on" in child.told()
    assert "Traceback" not in child.told()

    content[-1] ^= 1
    weights.write_bytes(content)
    child = nursery.run("resume", root)
    assert child.returncode == 0, child.told()
    assert len(tiny_run.told_steps(run)) == 2


def test_a_run_may_begin_with_the_checkpoint_of_adapters_and_then_trains_the_whole_model(
    nursery: Nursery, whole: RunPaths, tmp_path: Path
) -> None:
    start = whole.checkpoint(10)
    recipe = (
        f"extends: tiny\nname: after\npolicy: {{kind: checkpoint, path: {start}}}\ntotal_steps: 1\n"
    )
    run = RunPaths(plant(nursery, tmp_path, recipe, "after"))
    policy = assembly.policy_of(run.checkpoint(0))
    assert policy.adapted is None and not lora.adapted(policy.model)
    live = assembly.policy_of(start).model
    torch.testing.assert_close(logits(policy.model), logits(live), rtol=1e-5, atol=1e-5)
