"""UserRL's mixture: four gyms are trained on together, three are met in the evaluation alone."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from gate.contract import files, knobs
from gate.contract.findings import Refused
from gate.contract.paths import RunPaths
from tests import tiny_run
from tests.conformance import env_suite
from trainer import evaluation, examination, launch, recipe_file, session
from trainer.episode import Speaker
from trainer.policy import tokenizer
from trainer.worlds import catalog

TRAINED = {"travel": 925, "tau": 500, "turtle": 423, "persuasion": 378, "function": 200}
HELD_OUT = ["intention", "telepathy", "search"]
TINY = (
    "total_steps=1",
    "policy.size={vocab_size: 320, hidden: 32, layers: 1, heads: 2, kv_heads: 1, head_dim: 16, "
    "ffn: 64, max_positions: 4096}",
    "policy.warm_start={players: {oracle: 1.0}, episodes: 12, piece_steps: 0, steps: 1, "
    "tokens_per_batch: 4096}",
    "rollout.context_tokens=4096",
    "rollout.dialogues_per_step=32",
    "rollout.max_new_tokens=12",
    "checkpoint={every: 10, keep: 1, min_free_mb: 0}",
    "knobs.environment={max_steps: 3}",
)


def plan(folder: Path, *overrides: str) -> launch.LaunchPlan:
    knob_dir = folder / "knobs"
    knob_dir.mkdir(exist_ok=True)
    for name in knobs.FILES:
        (knob_dir / f"{name}.yaml").write_bytes(knobs.render_defaults(name))
    config = recipe_file.load("userrl-mix", [*TINY, *overrides])
    return launch.plan(config, run_id="mix", runs=folder / "runs", knob_dir=knob_dir)


def test_the_recipe_names_the_papers_worlds_shares_and_group_size() -> None:
    config = recipe_file.load("userrl-mix")
    weights = {world: setting.weight for world, setting in config.worlds.items()}
    assert {world: weights[world] for world in TRAINED} == TRAINED
    assert list(config.held_out) == HELD_OUT
    assert (config.rollout.group_size, config.learner.credit) == (8, "userrl")
    assert config.knobs["environment"]["max_steps"] == 16


def test_every_move_and_every_dialogue_of_the_experts_fits() -> None:
    config = recipe_file.load("userrl-mix")
    played = []
    for world in TRAINED:
        cast = env_suite.cast(world)
        tasks = catalog.tasks(world, "train")[:60]
        played += [cast.play(task, "oracle", style="compact") for task in tasks]
    texts = ["\n".join(turn.text for turn in episode.turns) for episode in played]
    tokens = tokenizer.train_tokenizer(texts, vocab_size=config.policy.size.vocab_size)
    for episode in played:
        counts = [(turn.speaker, len(tokens.encode(turn.text))) for turn in episode.turns]
        moves = [count for speaker, count in counts if speaker is Speaker.AGENT]
        assert max(moves) < config.rollout.max_new_tokens, episode.task_id
        assert sum(count for _, count in counts) < config.rollout.context_tokens, episode.task_id


def test_a_knob_that_names_a_held_out_world_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match='names the world "intention"'):
        plan(tmp_path, "knobs.environment={task_mix: {intention: 1.0}}")


def test_a_step_trains_on_the_mixture_and_the_evaluation_plays_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(evaluation.ROOT_VARIABLE, str(tmp_path / "evaluations"))
    planned = plan(tmp_path)
    session.start(planned, Console(file=io.StringIO()))
    paths = RunPaths(planned.root)
    (step,) = tiny_run.told_steps(paths)
    assert step["step"] == 1
    (path,) = paths.episodes.glob("*.jsonl")
    worlds = Counter(episode["world"] for episode in files.read_lines(path).records)
    assert set(worlds) <= set(TRAINED) and len(worlds) > 1
    assert sum(worlds.values()) == 32
    in_run = {folder.name for folder in (paths.world / "0000").iterdir()}
    assert in_run == set(planned.config.worlds)
    result, _ = examination.evaluate(paths, pattern="*-[a3]*")
    held_out = [world for world, one in result.by_world.items() if one.held_out]
    assert sorted(held_out) == sorted(HELD_OUT)
    assert result.finished == sum(one.finished for one in result.by_world.values())
