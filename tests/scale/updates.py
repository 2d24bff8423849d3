"""A program for `torchrun`: the same PPO update by every learner that is asked for, side by side.

Each case is one line of a JSON file; rank 0 writes what came of it beside that file. Run by
`test_updates.py`, alone it has no use.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from trainer.episode import StopReason
from trainer.policy import lora
from trainer.policy.lora_options import LoraOptions
from trainer.ppo import deepspeed_ranks
from trainer.ppo.deepspeed_learner import DeepSpeedLearner
from trainer.ppo.deepspeed_options import DeepSpeedOptions
from trainer.ppo.learner import LearnConfig, Learner, LearnSettings
from trainer.ppo.torch_learner import TorchLearner
from trainer.trajectory import Trajectory

VOCABULARY = 61
"""No multiple of the ranks: parts of a matrix then need padding."""
SETTINGS = LearnSettings(
    actor_lr=1e-4, critic_lr=1e-3, entropy_coeff=0.01, kl_coeff=0.01, ppo_epochs=2
)


def build_model(seed: int) -> Qwen3ForCausalLM:
    """Return a two-layer Qwen3 with tied embeddings."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=16,
            intermediate_size=64,
            vocab_size=VOCABULARY,
            max_position_embeddings=128,
            tie_word_embeddings=True,
        )
    )


def build_batch(count: int = 7) -> list[Trajectory]:
    """Return trajectories of different lengths; their number is no multiple of the ranks."""
    chance = torch.Generator().manual_seed(3)
    batch: list[Trajectory] = []
    for number in range(count):
        turns = 1 + number % 3
        mask = ([False] * (3 + number) + [True] * (2 + number % 4)) * turns
        starts = [here and not before for here, before in zip(mask, [False, *mask], strict=False)]
        turn_of = [sum(starts[: at + 1]) - 1 if acts else -1 for at, acts in enumerate(mask)]
        ids = torch.randint(1, VOCABULARY, (len(mask),), generator=chance).tolist()
        batch.append(
            Trajectory(
                ids=tuple(ids),
                action_mask=tuple(mask),
                turn_ids=tuple(turn_of),
                segment_ids=tuple(turn_of),
                rollout_logprobs=tuple(-4.1 if acts else 0.0 for acts in mask),
                rewards=(*[0.0] * (len(mask) - 1), float(number % 2)),
                stop=StopReason.OUT_OF_STEPS if number == 4 else StopReason.SOLVED,
                episode_id=f"000001-{number:02d}",
                task_id=f"task-{number // 2}",
                group_id=f"group-{number // 2}",
                arm="symbolic",
                revision=0,
                policy_version=0,
            )
        )
    return batch


def build_learner(case: dict[str, Any], ranks: deepspeed_ranks.Ranks) -> Learner:
    """Return a learner as a case wants it."""
    config = LearnConfig(minibatch_dialogues=4, **case.get("config", {}))
    model, reference = build_model(0), build_model(1)
    if "lora" in case:
        lora.attach(model, LoraOptions(**case["lora"]), seed=4)
        reference = lora.without_adapters(model)
    common = {"seed": 7, "reference_model": reference}
    if case["backend"] == "torch":
        return TorchLearner(model, config, **common)
    options = DeepSpeedOptions(bucket_elements=100_000, **case.get("options", {}))
    return DeepSpeedLearner(model, config, options, ranks, **common)


def run_case(case: dict[str, Any], folder: Path, ranks: deepspeed_ranks.Ranks) -> dict[str, Any]:
    """Run a case's steps, from its checkpoint if it names one, and save what it became."""
    learner = build_learner(case, ranks)
    if "load" in case:
        learner.load(folder / case["load"])
    told: dict[str, Any] = {"metrics": [], "error": None}
    began = time.perf_counter()
    for _ in range(case.get("steps", 1)):
        told["metrics"].append(dict(learner.step(build_batch(), SETTINGS).metrics))
    told["seconds"] = time.perf_counter() - began
    if case.get("break"):
        before = learner.fingerprint()
        broken = LearnSettings(actor_lr=float("nan"), critic_lr=1e-3, ppo_epochs=2)
        try:
            learner.step(build_batch(), broken)
        except FloatingPointError as error:
            told["error"] = str(error)
        told["unchanged"] = learner.fingerprint() == before
        told["metrics"].append(dict(learner.step(build_batch(), SETTINGS).metrics))
    told["fingerprints"] = ranks.gather(learner.fingerprint())
    told["version"] = learner.policy_version
    if ranks.leads or case["backend"] != "torch":
        learner.save(folder / case["name"])
    if case.get("export"):
        learner.export(folder / case["export"])
    return told


def main(path: Path) -> None:
    """Run every case of a file."""
    torch.set_num_threads(1)
    ranks = deepspeed_ranks.join()
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        told = run_case(case, path.parent, ranks)
        if ranks.leads:
            (path.parent / f"{case['name']}.json").write_text(json.dumps(told), "utf-8")
            print(f"{case['name']}: {told['seconds']:.2f} s", flush=True)
    deepspeed_ranks.part()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
