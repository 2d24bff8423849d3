"""One update is the same under either learner, on one rank and on two, at every ZeRO stage."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.scale import jobs
from trainer.ppo.weights import read_tensors

pytestmark = jobs.needs_deepspeed

RTOL = 1e-5
ATOL = 5e-7
"""Where a gradient is almost 0, AdamW's first steps carry its rounding into the weight: a part in a
thousand of a step of the critic's rate of 1e-3 is allowed."""

STAGES = (0, 1, 2, 3)
PROGRAM = Path(__file__).with_name("updates.py")


def _cases() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = [
        {"name": "torch", "backend": "torch"},
        {"name": "torch-two", "backend": "torch", "steps": 2},
    ]

    def add(name: str, stage: int, **extra: Any) -> None:
        options = {"zero_stage": stage} | extra.pop("options", {})
        cases.append({"name": name, "backend": "deepspeed", "options": options} | extra)

    for stage in STAGES:
        add(f"zero-{stage}", stage)
        add(f"cut-{stage}", stage, config={"micro_batch_tokens": 16})
        add(f"broken-{stage}", stage, **{"break": True})
        add(f"resumed-{stage}", stage, load="torch")
        add(f"again-{stage}", stage, config={"recompute_activations": True})
    for stage in (1, 2, 3):
        add(f"offload-{stage}", stage, options={"offload_optimizer": True})
        add(f"half-{stage}", stage, options={"dtype": "bfloat16"}, steps=2)
    adapters: dict[str, Any] = {"lora": {"rank": 4, "alpha": 8.0}}
    cases.append({"name": "lora-torch", "backend": "torch", "steps": 2} | adapters)
    cases.append({"name": "lora-first", "backend": "torch"} | adapters)
    for stage in (0, 1, 2):
        add(f"lora-{stage}", stage, steps=2, **adapters)
        add(f"lora-broken-{stage}", stage, **{"break": True}, **adapters)
        add(f"lora-resumed-{stage}", stage, load="lora-first", **adapters)
    add("lora-half", 2, options={"dtype": "bfloat16"}, steps=2, **adapters)
    add("sharded", 3, load="zero-3", steps=0, export="exported")
    add("resharded", 1, load="sharded", steps=0)
    return cases


@pytest.fixture(scope="module", params=[1, 2])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run every case in one job of so many ranks."""
    place = tmp_path_factory.mktemp(f"ranks-{request.param}")
    lines = [json.dumps(case) for case in _cases()]
    (place / "cases.jsonl").write_text("\n".join(lines), "utf-8")
    if request.param == 1:
        command = [sys.executable, "-W", "ignore::FutureWarning", str(PROGRAM)]
        jobs.run([*command, str(place / "cases.jsonl")], folder=place)
    else:
        jobs.run(jobs.torchrun(request.param, PROGRAM, place / "cases.jsonl"), folder=place)
    return place


def told(folder: Path, name: str) -> dict[str, Any]:
    """Return what a case said of itself."""
    return json.loads((folder / f"{name}.json").read_text("utf-8"))


def assert_agree(folder: Path, name: str, reference: str) -> None:
    """Compare all weights of two cases, actor and critic."""
    for part in ("actor", "critic"):
        found = read_tensors(folder / name / f"{part}.safetensors")
        wanted = read_tensors(folder / reference / f"{part}.safetensors")
        assert found.keys() == wanted.keys()
        for tensor, value in wanted.items():
            torch.testing.assert_close(
                found[tensor], value, rtol=RTOL, atol=ATOL, msg=lambda m, t=tensor: f"{t}: {m}"
            )
    assert len(set(told(folder, name)["fingerprints"])) == 1, "ranks hold different weights"


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", ["zero", "cut", "again"])
def test_parameters_agree_with_one_process(folder: Path, kind: str, stage: int) -> None:
    assert_agree(folder, f"{kind}-{stage}", "torch")


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", ["zero", "cut"])
def test_every_metric_agrees_whatever_the_cut(folder: Path, kind: str, stage: int) -> None:
    wanted = told(folder, "torch")["metrics"][0]
    found = told(folder, f"{kind}-{stage}")["metrics"][0]
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-7)
    for name in ("actor_grad_norm", "critic_grad_norm", "policy_loss", "value_loss"):
        assert found[name] == pytest.approx(wanted[name], rel=RTOL)


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_an_offloaded_optimizer_takes_the_same_step(folder: Path, stage: int) -> None:
    assert_agree(folder, f"offload-{stage}", "torch")


@pytest.mark.parametrize("stage", STAGES)
def test_an_update_that_is_not_finite_leaves_no_trace(folder: Path, stage: int) -> None:
    broken = told(folder, f"broken-{stage}")
    assert "is nan" in broken["error"]
    assert broken["unchanged"]
    # The step that was taken after it is the second one of a run in which nothing broke.
    assert_agree(folder, f"broken-{stage}", "torch-two")


@pytest.mark.parametrize("stage", STAGES)
def test_a_checkpoint_of_one_process_goes_on_on_any_number_of_ranks(
    folder: Path, stage: int
) -> None:
    assert told(folder, f"resumed-{stage}")["version"] == 2
    assert_agree(folder, f"resumed-{stage}", "torch-two")


def test_a_state_that_changes_stages_is_the_same_to_the_bit(folder: Path) -> None:
    for part in ("actor", "critic", "actor_optimizer", "critic_optimizer"):
        contents = {
            (folder / name / f"{part}.safetensors").read_bytes()
            for name in ("zero-3", "sharded", "resharded")
        }
        assert len(contents) == 1, part


def test_the_export_is_whole_and_loads_as_a_model(folder: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder / "exported", dtype=torch.float32)
    saved = read_tensors(folder / "sharded" / "actor.safetensors")
    exported = model.state_dict()
    assert all(torch.equal(exported[name], value) for name, value in saved.items())


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_half_precision_stays_near_and_moves_float32_weights(folder: Path, stage: int) -> None:
    wanted = told(folder, "torch-two")["metrics"]
    found = told(folder, f"half-{stage}")["metrics"]
    for mine, theirs in zip(found, wanted, strict=True):
        for name in ("entropy", "actor_grad_norm", "critic_grad_norm", "value_loss"):
            assert mine[name] == pytest.approx(theirs[name], rel=2e-2)
    weights = read_tensors(folder / f"half-{stage}" / "actor.safetensors")
    assert all(value.dtype == torch.float32 for value in weights.values())
    assert any(bool((value != value.bfloat16().float()).any()) for value in weights.values())


@pytest.mark.parametrize("kind", ["lora", "lora-broken", "lora-resumed"])
@pytest.mark.parametrize("stage", [0, 1, 2])
def test_adapters_learn_the_same_on_ranks_as_in_one_process(
    folder: Path, kind: str, stage: int
) -> None:
    assert_agree(folder, f"{kind}-{stage}", "lora-torch")
    weights = read_tensors(folder / f"{kind}-{stage}" / "actor.safetensors")
    assert weights and all("lora_" in name for name in weights), "the base is no part of it"


def test_adapters_on_a_base_in_half_precision_learn_nearly_the_same(folder: Path) -> None:
    for found, wanted in zip(
        told(folder, "lora-half")["metrics"], told(folder, "lora-torch")["metrics"], strict=True
    ):
        assert found["value_loss"] == pytest.approx(wanted["value_loss"], rel=0.02)
        assert found["actor_grad_norm"] == pytest.approx(wanted["actor_grad_norm"], rel=0.02)
