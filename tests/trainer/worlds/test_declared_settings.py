"""What a world declares reaches the world: its settings, and the defaults of its own knobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.worlds.stage import task
from trainer.worlds.calls import Fault, Start
from trainer.worlds.host import WorldHost
from trainer.worlds.loading import declared_settings
from trainer.worlds.local import LocalHost
from trainer.worlds.seam import Opening

ENV = """
from trainer.worlds.seam import Opening


class Told:
    def __init__(self, settings):
        self.settings = settings

    def start(self):
        told = sorted(self.settings.items())
        return Opening(system="told", user=" ".join(f"{k}={v}" for k, v in told))


def make(task, *, settings, seed):
    return Told(settings)
"""

DECLARED = """
name: told
turn_limit: 4
success_metric: solved
metrics: {solved: "1 when solved."}
events: {}
editable: [env.py]
settings: {pace: 2, prompt_style: full}
knobs:
  patience:
    description: How long it waits.
    type: integer
    minimum: 0
    maximum: 9
    default: 3
    x-scope: world
    x-harder: none
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "env.py").write_text(ENV)
    (tmp_path / "world.yaml").write_text(DECLARED)
    return tmp_path


def opened(host: WorldHost | LocalHost, **settings: object) -> str:
    host.open("a", task("told"), settings=settings, seed=1)
    result = host.call({"a": Start()}, deadline_s=20.0)["a"]
    assert isinstance(result, Opening), result
    return result.user


def test_a_world_without_a_declaration_declares_nothing(tmp_path: Path) -> None:
    assert declared_settings(tmp_path) == {}


def test_a_world_is_made_with_what_it_declares(folder: Path) -> None:
    with WorldHost({"told": folder}) as host:
        assert opened(host) == "pace=2 patience=3 prompt_style=full"


def test_what_the_trainer_sets_comes_before_what_is_declared(folder: Path) -> None:
    host = LocalHost({"told": folder})
    assert opened(host, prompt_style="compact") == "pace=2 patience=3 prompt_style=compact"


def test_a_declaration_that_cannot_be_used_is_a_fault_of_the_world(folder: Path) -> None:
    (folder / "world.yaml").write_text("name: [\n")
    with WorldHost({"told": folder}) as host:
        fault = host.check("told")
    assert isinstance(fault, Fault)
    assert "world.yaml" in fault.detail
