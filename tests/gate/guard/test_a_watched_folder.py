"""A folder of a person's choice counts as the run's own: edits, the gate's changes, a way back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate.contract import knobs, ledger
from gate.contract.findings import Refused
from gate.contract.ledger import EntryKind
from gate.contract.paths import RunPaths
from gate.contract.watch_mark import Mark
from gate.guard import Guard, KnobStatus, applying, inspection, setting
from tests import live_run, proposed
from tests.gate.guard import played


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mine"


@pytest.fixture
def run(tmp_path: Path, folder: Path) -> RunPaths:
    return live_run.launch_watching(tmp_path / "run", folder)


@pytest.fixture
def guard(run: RunPaths) -> Guard:
    return Guard.open(run, worlds=live_run.WORLDS)


def look(guard: Guard, step: int) -> KnobStatus:
    return guard.reconcile(step, success_history=[], now=float(step))


def save(folder: Path, key: str, value: object, *, file: str = "user") -> None:
    path = folder / f"{file}.yaml"
    path.write_bytes(live_run.with_value(path.read_bytes(), key, value))


def test_a_file_saved_in_the_folder_is_in_force_at_the_next_step(
    guard: Guard, folder: Path
) -> None:
    assert look(guard, 1) == KnobStatus(knobs.defaults(), 0)
    save(folder, "max_reveals", 3)
    status = look(guard, 2)
    assert (status.knobs.get("user.max_reveals"), status.revision) == (3, 1)


def test_what_was_edited_while_the_run_was_down_is_a_hand_edit(run: RunPaths, folder: Path) -> None:
    save(folder, "max_reveals", 3)
    status = look(Guard.open(run, worlds=live_run.WORLDS), 1)
    assert [change.path for change in status.changed] == ["user.max_reveals"]


def test_a_command_and_its_way_back_are_written_in_the_folder(
    run: RunPaths, guard: Guard, folder: Path
) -> None:
    setting.set_knob(
        run,
        "user.max_reveals",
        3,
        reason="a try",
        worlds=live_run.WORLDS,
        now=1.0,
        timeout_s=1.0,
    )
    assert "max_reveals: 3" in (folder / "user.yaml").read_text()
    assert look(guard, 1).knobs.get("user.max_reveals") == 3
    applying.revert(run, 1, reason="no", worlds=live_run.WORLDS, now=2.0, timeout_s=1.0)
    assert "max_reveals: 2" in (folder / "user.yaml").read_text()
    assert look(guard, 2).knobs.get("user.max_reveals") == 2


def test_a_folder_that_vanishes_is_told_in_one_sentence_until_it_is_back(
    run: RunPaths, guard: Guard, folder: Path
) -> None:
    save(folder, "max_reveals", 3)
    look(guard, 1)
    folder.rename(folder.with_name("away"))
    for step in range(2, 5):
        status = look(guard, step)
        assert (status.revision, status.knobs.get("user.max_reveals")) == (1, 3)
        (found,) = status.refused
        assert found.message == (
            f"None of the knob files in {folder} can be read: no such file or directory."
        )
        assert found.next_step.startswith("Put the folder back")
    kinds = [entry.kind for entry in ledger.entries(run.ledger)]
    assert kinds.count(EntryKind.REFUSED) == 1
    assert inspection.inspect_run(run, worlds=live_run.WORLDS).findings == (found,)
    folder.with_name("away").rename(folder)
    assert look(guard, 5).refused == ()
    save(folder, "max_reveals", 4)
    assert look(guard, 6).knobs.get("user.max_reveals") == 4


def test_a_file_that_is_missing_alone_is_named(guard: Guard, folder: Path) -> None:
    (folder / "agent.yaml").unlink()
    (found,) = look(guard, 1).refused
    assert found.file == "knobs/agent.yaml"


def test_a_proposal_waits_while_the_folder_is_gone(
    run: RunPaths, guard: Guard, folder: Path
) -> None:
    live_run.log_success(run, 0.9, steps=30)
    look(guard, 31)
    proposed.submit(run, changes={"user.max_reveals": 3})
    shutil.move(folder, folder.with_name("away"))
    status = look(guard, 31)
    assert [one.rule for one in status.waiting] == ["guard.waiting"]
    shutil.move(folder.with_name("away"), folder)
    assert look(guard, 32).knobs.get("user.max_reveals") == 3
    assert "max_reveals: 3" in (folder / "user.yaml").read_text()


def test_a_proposal_waits_while_another_live_run_watches_the_folder(
    run: RunPaths, guard: Guard, folder: Path, tmp_path: Path
) -> None:
    live_run.log_success(run, 0.9, steps=30)
    proposed.submit(run, changes={"user.max_reveals": 3})
    mark = Mark(folder, tmp_path / "other")
    mark.take()
    status = look(guard, 31)
    assert [one.rule for one in status.waiting] == ["revision.watched_elsewhere"]
    with pytest.raises(Refused, match=r"is watched by .*other"):
        applying.apply(run, 1, worlds=live_run.WORLDS, now=1.0, timeout_s=1.0)
    mark.release()
    assert look(guard, 32).knobs.get("user.max_reveals") == 3


def test_a_harm_is_taken_back_as_soon_as_the_folder_is_there_again(tmp_path: Path) -> None:
    run, away = played.launch(tmp_path / "run"), tmp_path / "away"
    run.play(30)
    proposed.submit(run.paths)
    run.success = played.under(0.2, 0.5)
    while not run.standing() or run.standing()[0].verdict != "harm":
        run.play()
    run.paths.knobs.rename(away)
    status = run.play()
    assert status.revision == 1 and run.outcomes() == ()
    assert "knobs.unreadable" in [one.rule for one in status.warnings]
    away.rename(run.paths.knobs)
    run.play()
    (outcome,) = run.outcomes()
    assert (outcome.verdict, outcome.rolled_back_by) == ("harm", 2)
