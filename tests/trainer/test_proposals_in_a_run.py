"""A live run takes up proposals at a step boundary and tells what became of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gate.contract import files, launch_record, protected
from gate.contract.paths import RunPaths
from tests import jobs, proposed, tiny_run
from tests.nursery import Nursery
from trainer import launch, recipe_file, run_folder
from trainer.launch import LaunchError


def renew_digests(run: RunPaths) -> None:
    """Record the code as it is now: what was edited since the seedling was planted is no matter."""
    record = run.launch.read_text("utf-8")
    for folder, digest in protected.digests().items():
        record = re.sub(rf"(?m)^  {re.escape(folder)}:\s+\S+$", f"  {folder}: '{digest}'", record)
    run.launch.write_text(record, "utf-8")


def test_a_proposal_changes_the_next_step_and_a_bad_one_does_not(
    nursery: Nursery, seedling: Path, tmp_path: Path
) -> None:
    run = jobs.copy_run(seedling, tmp_path / "run")
    child = nursery.run("resume", run.root, stop_after=2)
    assert child.returncode == 0, child.told()
    episode = files.read_lines(run.episodes_of(2)).records[0]["id"]
    renew_digests(run)
    # What is learnt from changes no dialogue, so that nothing is probed and the step is known.
    changes = {"agent.gae_lambda": 0.9}
    proposed.submit(run, changes=changes, evidence={"steps": [1], "episodes": [episode]})
    proposed.submit(run, changes={"environment.max_steps": 5})
    child = nursery.run("resume", run.root, stop_after=4)
    assert child.returncode == 0, child.told()
    (adopted,) = tiny_run.events(run, "proposal_adopted")
    (refused,) = tiny_run.events(run, "proposal_refused")
    assert (adopted["step"], adopted["detail"]["outcome"]["revision"]) == (3, 1)
    found = [finding["rule"] for finding in refused["detail"]["outcome"]["findings"]]
    assert found == ["rules.difficulty", "rules.pace"]
    assert [record["revision"] for record in tiny_run.told_steps(run)] == [0, 0, 1, 1]
    assert "proposal 1 is in force (revision 1)" in child.told()
    assert "proposal 2 was refused" in child.told()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_run.write_recipe(tmp_path / "start")
    return tmp_path


def restart(folder: Path, run_id: str, parent: str | None) -> RunPaths:
    config = recipe_file.load(str(folder / "start" / "tiny.yaml"), ())
    planned = launch.plan(
        config, run_id=run_id, runs=folder / "runs", knob_dir=folder / "start" / "knobs"
    )
    return launch.create(planned, now=1.0, parent=parent)


def test_a_launch_records_its_protected_folders_and_its_attempt(folder: Path) -> None:
    first = restart(folder, "a", None)
    record = launch_record.read(first.root)
    assert {"gate/rules", "trainer/worlds/travel/evaluation", "world/0000"} <= set(record.protected)
    run_folder.check_world(first)
    parent = "a"
    for name in "bcde":
        run = restart(folder, name, parent)
        parent = name
    assert launch_record.read(run.root).attempt == 5
    with pytest.raises(LaunchError, match="would be launch 6 of its experiment; 5 are allowed"):
        restart(folder, "f", "e")
    assert not (folder / "runs" / "f").exists()
