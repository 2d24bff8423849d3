"""A recipe's planted faults are checked before the run, and never harm it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import live_run
from trainer import planted, recipe_file
from trainer.errors import Unusable
from trainer.recipe import PlantedFault

SHORT = {"short": PlantedFault(step=3, knobs={"environment.max_steps": 9}, reason="few turns")}


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "first")


def test_a_recipe_names_its_faults() -> None:
    config = recipe_file.load(
        "demo", ["plant={short: {step: 3, knobs: {environment.max_steps: 9}, reason: few turns}}"]
    )
    assert config.plant == SHORT
    assert recipe_file.from_values(recipe_file.to_values(config)) == config


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (PlantedFault(step=0, knobs={}), "steps start at 1"),
        (PlantedFault(step=1, knobs={"user.nothing": 1}), "is no knob"),
        (PlantedFault(step=1, knobs={"environment.max_steps": 1}), "max_steps"),
    ],
)
def test_what_could_not_come_into_force_is_refused_at_the_launch(
    fault: PlantedFault, said: str
) -> None:
    with pytest.raises(Unusable, match=said):
        planted.check({"odd": fault}, worlds=live_run.WORLDS)


def test_two_faults_cannot_share_a_step() -> None:
    with pytest.raises(Unusable, match="each has one fault"):
        planted.check({**SHORT, "again": SHORT["short"]}, worlds=live_run.WORLDS)


def test_a_fault_is_planted_at_its_step_and_told(run: RunPaths) -> None:
    said: list[str] = []

    def due(step: int) -> object:
        return planted.due(SHORT, run, worlds=live_run.WORLDS, step=step, now=1.0, told=said.append)

    assert due(2) is None
    made = due(3)
    assert made is not None
    assert due(3) is None
    assert said == ["short planted at step 3 (revision 1): few turns"]


def test_a_fault_that_cannot_be_planted_is_told_and_the_run_goes_on(run: RunPaths) -> None:
    said: list[str] = []
    live_run.save(run, "environment.max_steps", 15)
    made = planted.due(SHORT, run, worlds=live_run.WORLDS, step=3, now=1.0, told=said.append)
    assert made is None
    assert len(said) == 1 and "was not planted at step 3" in said[0]


def test_another_process_that_keeps_the_lock_does_not_stop_the_run(
    run: RunPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planted, "PATIENCE_S", 0.05)
    said: list[str] = []
    with live_run.locked_elsewhere(run):
        planted.due(SHORT, run, worlds=live_run.WORLDS, step=3, now=1.0, told=said.append)
    assert "was not planted" in said[0]
    assert files.read_lines(run.ledger).records[-1]["kind"] == "launch"
