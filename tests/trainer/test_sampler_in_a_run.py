"""A run tells how its sampler is, and trains on nothing that the learner would not say too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files
from tests import live_run, tiny_run
from tests.trainer import scripted_run
from tests.trainer.rollout.cast import ScriptedSampler
from trainer import loop, preflight, recipe_file
from trainer.loop import Ending
from trainer.policy.sampler import Incident
from trainer.policy.sglang_agreement import SamplerDisagrees
from trainer.recipe_file import RecipeError


class IllSampler(ScriptedSampler):
    """Loses a server in its second sync and finds it again; from one version on it disagrees."""

    disagrees_from = 99

    def sync(self, policy_version: int) -> None:
        """Refuse a version, or take it on."""
        if policy_version >= self.disagrees_from:
            raise SamplerDisagrees("log-probabilities differ from the learner's by 0.3")
        super().sync(policy_version)

    def health(self) -> Mapping[str, Any]:
        """Tell of one server."""
        return {"kind": "sglang", "servers": [{"up": True}]}

    def incidents(self) -> list[Incident]:
        """Tell of a loss, once."""
        return [Incident("engine_restart", {"server": 0})] if self.policy_version == 2 else []


def make(folder: Path) -> tuple[loop.Run, IllSampler]:
    run = scripted_run.make(live_run.launch(folder / "run"))
    sampler = IllSampler(scripted_run.AnyScript(), policy_version=0)
    return replace(run, scene=replace(run.scene, sampler=sampler)), sampler


def test_servers_are_in_the_status_and_what_befell_them_among_the_events(tmp_path: Path) -> None:
    run, _ = make(tmp_path)
    assert loop.train(run) is Ending.FINISHED
    assert tiny_run.status(run.paths)["health"]["sampler"]["servers"] == [{"up": True}]
    (event,) = tiny_run.events(run.paths, "engine_restart")
    assert (event["step"], event["detail"]) == (2, {"server": 0})


def test_a_sampler_in_this_process_has_nothing_to_tell(tmp_path: Path) -> None:
    run = scripted_run.make(live_run.launch(tmp_path / "run"))
    loop.train(run)
    assert "sampler" not in tiny_run.status(run.paths)["health"]


def test_a_sampler_that_disagrees_ends_the_run_in_that_very_step(tmp_path: Path) -> None:
    run, sampler = make(tmp_path)
    sampler.disagrees_from = 3
    assert loop.train(run) is Ending.FAILED
    assert "differ from the learner's" in tiny_run.status(run.paths)["reason"]
    assert [step["step"] for step in files.read_lines(run.paths.steps).records] == [1, 2]


def test_a_recipe_names_servers_in_a_list_and_options_in_a_map() -> None:
    config = recipe_file.load("ppo", ["sampler.urls=[http://a:1, http://b:2]"])
    assert config.sampler.urls == ("http://a:1", "http://b:2")
    assert recipe_file.from_values(recipe_file.to_values(config)) == config
    options = recipe_file.load("sglang-cpu").sampler.launch.options
    assert options["sleep-on-idle"] is True and options["dtype"] == "float32"
    for wrong in ("sampler.urls=http://a:1", "sampler.urls=[1]", "sampler.kind=vllm"):
        with pytest.raises(RecipeError, match="sampler"):
            recipe_file.load("ppo", [wrong])


def test_an_interpreter_that_is_not_there_is_told_before_anything_starts() -> None:
    asked = ["sampler.kind=sglang", "sampler.launch.python=/nowhere/python"]
    (fault,) = preflight.faults(recipe_file.load("demo", asked))
    assert "no program /nowhere/python is there" in fault and "make sglang" in fault
    joined = [*asked, "sampler.urls=[http://a:1]"]
    assert list(preflight.faults(recipe_file.load("demo", joined))) == []
