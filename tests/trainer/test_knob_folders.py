"""A run may watch a folder of a person's choice; whoever edits another folder is told so."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files, knobs, launch_record, ledger, watch_mark
from gate.contract.findings import Refused
from gate.contract.paths import RunPaths
from gate.contract.watch_mark import Mark
from tests import jobs, live_run, tiny_run
from tests.nursery import Nursery
from trainer import knob_folders, launch, recipe_file, run_folder
from trainer.knob_folders import Notices
from trainer.launch import LaunchError, LaunchPlan


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tiny recipe, and `mine`, whose files hold the recipe's own values."""
    tiny_run.write_recipe(tmp_path)
    (tmp_path / "mine").mkdir()
    for name in knobs.FILES:
        content = knobs.render_defaults(name)
        for key, value in jobs.TINY_KNOBS.get(name, {}).items():
            content = live_run.with_value(content, key, value)
        (tmp_path / "mine" / f"{name}.yaml").write_bytes(content)
    return tmp_path


def plan(folder: Path, *overrides: str, watched: str = "mine", **other: Any) -> LaunchPlan:
    config = recipe_file.load(str(folder / "tiny.yaml"), overrides)
    places = {"run_id": "first", "runs": folder / "runs", "watched": folder / watched, **other}
    return launch.plan(config, **places)


def refusal(folder: Path, **other: Any) -> str:
    with pytest.raises((LaunchError, Refused)) as refused:
        plan(folder, **other)
    assert not (folder / "runs" / other.get("run_id", "first")).exists()
    return str(refused.value)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_launch_links_the_folder_and_says_so_in_its_record(folder: Path) -> None:
    before = contents(folder / "mine")
    run = launch.create(plan(folder), now=1.0)
    assert run.knobs.readlink() == folder / "mine"
    assert launch_record.read(run.root).knobs == str(folder / "mine")
    assert knob_folders.of_run(run) == folder / "mine"
    assert contents(folder / "mine") == before
    launched = ledger.revisions(run.ledger)[0]
    assert launched.files["knobs/user.yaml"] == files.content_digest(before["user.yaml"])
    assert ledger.launch_values(run.ledger)["agent"]["critic_lr"] == 0.001


def test_a_run_with_files_of_its_own_names_no_folder(folder: Path) -> None:
    config = recipe_file.load(str(folder / "tiny.yaml"))
    planned = launch.plan(config, run_id="own", runs=folder / "runs", knob_dir=folder / "knobs")
    own = launch.create(planned, now=1.0)
    assert run_folder.read_record(own)["knobs"] is None
    assert knob_folders.of_run(own) is None and not own.knobs.is_symlink()


def test_a_folder_that_lacks_a_file_is_refused(folder: Path) -> None:
    (folder / "mine" / "reward.yaml").unlink()
    assert f"{folder}/mine/reward.yaml: No such file or directory" in refusal(folder)


def test_a_file_that_is_wrong_is_refused_with_line_and_limit(folder: Path) -> None:
    path = folder / "mine" / "user.yaml"
    path.write_bytes(live_run.with_value(path.read_bytes(), "match_threshold", 7))
    told = refusal(folder)
    assert told.startswith(f"{path}:") and "is 7, which is above the highest value 1" in told


def test_a_recipe_that_begins_with_other_values_is_refused_and_told_where(folder: Path) -> None:
    path = folder / "mine" / "agent.yaml"
    path.write_bytes(live_run.with_value(path.read_bytes(), "critic_lr", 0.002))
    told = refusal(folder)
    line = next(
        i for i, text in enumerate(path.read_text().splitlines(), 1) if "critic_lr:" in text
    )
    assert told.startswith(f"{path}:{line}:12: agent.critic_lr is 0.002 in this file, and the")
    assert "begins with 0.001." in told and "--set knobs={}" in told
    assert told.count("\n") == 0
    planned = plan(folder, "knobs={}")
    assert planned.knobs.get("agent.critic_lr") == 0.002


@pytest.mark.parametrize("place", ["nowhere", "mine/user.yaml"])
def test_what_is_no_folder_is_not_watched(folder: Path, place: str) -> None:
    assert f"--knobs {folder}/{place}: no such folder; make one" in refusal(folder, watched=place)


@pytest.mark.parametrize(
    "place", ["runs/other/candidate/knobs", "elsewhere/run/knobs", "pool/mine"]
)
def test_a_folder_where_runs_or_a_meta_agent_write_is_not_watched(
    folder: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAU_EXPERIENCE", str(folder / "pool"))
    shutil.copytree(folder / "mine", folder / place)
    if place.startswith("elsewhere"):
        (folder / "elsewhere" / "run" / "run.yaml").write_text("run: x\n")
    told = refusal(folder, watched=place)
    assert "where runs or a meta-agent write" in told and "--starting-knobs" in told


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_not_watched(folder: Path) -> None:
    (folder / "mine").chmod(0o555)
    try:
        assert "it cannot be written" in refusal(folder)
    finally:
        (folder / "mine").chmod(0o755)


def test_a_folder_that_a_live_run_watches_is_refused_at_launch_and_resume(
    folder: Path, tmp_path: Path
) -> None:
    run = launch.create(plan(folder), now=1.0)
    mark = Mark(folder / "mine", tmp_path / "other")
    mark.take()
    told = f"{folder}/mine is watched by {tmp_path}/other (process {os.getpid()}), and two live"
    assert told in refusal(folder, run_id="second")
    with (
        pytest.raises(LaunchError, match="stop that one first"),
        knob_folders.marked(knob_folders.of_run(run), run.root),
    ):
        raise AssertionError("it was let in")
    mark.release()


def test_a_link_that_leads_elsewhere_is_told_with_the_way_back(folder: Path) -> None:
    run = launch.create(plan(folder), now=1.0)
    run.knobs.unlink()
    run.knobs.symlink_to(folder / "knobs")
    with pytest.raises(LaunchError, match=f"ln -sfn {folder}/mine {run.knobs}"):
        knob_folders.of_run(run)


def test_a_folder_that_is_gone_is_marked_once_it_is_back(folder: Path) -> None:
    run = launch.create(plan(folder), now=1.0)
    (folder / "mine").rename(folder / "away")
    with knob_folders.marked(folder / "mine", run.root) as mark:
        notices = Notices(run, mark, starting=folder / "knobs")
        assert notices() == []
        (folder / "away").rename(folder / "mine")
        assert notices() == []
        held = watch_mark.holder(folder / "mine")
        assert held is not None and held.run == str(run.root)
    assert not (folder / "mine" / watch_mark.NAME).exists()


def test_a_second_run_that_slipped_in_is_told_at_every_step(folder: Path, tmp_path: Path) -> None:
    run = launch.create(plan(folder), now=1.0)
    with knob_folders.marked(folder / "mine", run.root) as mark:
        (folder / "mine" / watch_mark.NAME).unlink()
        other = Mark(folder / "mine", tmp_path / "other")
        other.take()
        notices = Notices(run, mark, starting=folder / "knobs")
        for _ in range(2):
            (told,) = notices()
            assert f"watched by {tmp_path}/other" in told and "stop one of the two runs" in told
        other.release()
        assert notices() == []


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "\n")
    later = time.time_ns() + 10**9
    os.utime(path, ns=(later, later))


@pytest.fixture
def own(folder: Path) -> RunPaths:
    config = recipe_file.load(str(folder / "tiny.yaml"))
    planned = launch.plan(config, run_id="own", runs=folder / "runs", knob_dir=folder / "knobs")
    return launch.create(planned, now=1.0)


def test_an_edit_of_the_starting_set_is_told_once_with_the_live_file(
    folder: Path, own: RunPaths
) -> None:
    notices = Notices(own, None, starting=folder / "knobs")
    assert notices() == []
    edit(folder / "knobs" / "user.yaml")
    assert notices() == [
        f"{folder}/knobs/user.yaml is of the starting set for new runs; this run's live file is "
        f"{own.knobs}/user.yaml"
    ]
    assert notices() == []
    edit(folder / "knobs" / "user.yaml")
    assert len(notices()) == 1


def test_edits_of_several_starting_files_are_one_sentence(folder: Path, own: RunPaths) -> None:
    notices = Notices(own, None, starting=folder / "knobs")
    edit(folder / "knobs" / "user.yaml")
    (folder / "knobs" / "agent.yaml").unlink()
    (told,) = notices()
    assert told.endswith(f"live files are in {own.knobs}/")
    assert "user.yaml" in told and "agent.yaml" in told


def test_a_starting_file_that_was_only_touched_is_no_edit(folder: Path, own: RunPaths) -> None:
    notices = Notices(own, None, starting=folder / "knobs")
    os.utime(folder / "knobs" / "user.yaml", (1, 1))
    assert notices() == []


def test_a_run_that_watches_the_starting_set_is_told_nothing(folder: Path) -> None:
    run = launch.create(plan(folder), now=1.0)
    with knob_folders.marked(folder / "mine", run.root) as mark:
        notices = Notices(run, mark, starting=folder / "mine")
        edit(folder / "mine" / "user.yaml")
        assert notices() == []


def test_without_a_starting_set_there_is_nothing_to_tell(folder: Path, own: RunPaths) -> None:
    assert Notices(own, None, starting=folder / "nowhere")() == []


def test_a_run_takes_up_what_is_saved_in_its_folder_and_leaves_no_mark(
    nursery: Nursery, folder: Path
) -> None:
    words = ("--runs", str(folder / "runs"), "--knobs", str(folder / "mine"))
    child = nursery.run(
        "command", "train", str(folder / "tiny.yaml"), "--run-id", "first", *words,
        "--set", "total_steps=2",
    )  # fmt: skip
    assert child.returncode == 0, child.told()
    assert f"edit {folder}/mine/*.yaml at any time" in child.told()
    run = RunPaths(folder / "runs" / "first")
    path = folder / "mine" / "agent.yaml"
    content = live_run.with_value(path.read_bytes(), "gae_lambda", 0.9)
    path.write_bytes(live_run.with_value(content, "total_steps", 3))
    again = nursery.run("command", "resume", "first", "--runs", str(folder / "runs"))
    assert again.returncode == 0, again.told()
    assert "agent.gae_lambda: 0.95 -> 0.9 (revision 1)" in again.told()
    assert [step["revision"] for step in tiny_run.told_steps(run)] == [0, 0, 1]
    assert sorted(contents(folder / "mine")) == sorted(f"{name}.yaml" for name in knobs.FILES)


def test_watching_and_copying_at_once_is_refused(nursery: Nursery, folder: Path) -> None:
    words = ("--knobs", str(folder / "mine"), "--starting-knobs", str(folder / "knobs"))
    child = nursery.run("command", "train", str(folder / "tiny.yaml"), *words)
    assert child.returncode == 2
    assert "--starting-knobs" in child.told() and "Traceback" not in child.told()
