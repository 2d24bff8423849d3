"""A run may watch a folder elsewhere: revisions are written there, and by one live run alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.contract import files, ledger, revisions, watch_mark, watched
from gate.contract.findings import Refused
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, Revision, RevisionKind
from gate.contract.paths import OutsideRoot, RunPaths
from gate.contract.watch_mark import Mark, Taken
from tests import live_run

CHANGE = KnobChange("user.max_reveals", 2, 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mine"


@pytest.fixture
def run(tmp_path: Path, folder: Path) -> RunPaths:
    return live_run.launch_watching(tmp_path / "run", folder)


def commit(run: RunPaths, *, checkpoint: revisions.Checkpoint = revisions.unobserved) -> Revision:
    old = live_run.starting_files()["knobs/user.yaml"]
    return revisions.commit(
        run,
        {"knobs/user.yaml": live_run.with_value(old, "max_reveals", 3)},
        author=Author.UNATTRIBUTED,
        reason="easier questions",
        kind=RevisionKind.COMMAND,
        changes=(CHANGE,),
        step=7,
        now=70.0,
        checkpoint=checkpoint,
    )


def rule_of_a_commit(run: RunPaths) -> str:
    before = run.ledger.read_bytes()
    with pytest.raises(Refused) as refused:
        commit(run)
    assert run.ledger.read_bytes() == before
    (finding,) = refused.value.findings
    assert finding.rule in revisions.NOT_NOW
    return finding.rule


def max_reveals(folder: Path) -> str:
    return next(
        line for line in (folder / "user.yaml").read_text().splitlines() if "max_reveals:" in line
    )


def test_a_launch_leaves_the_files_of_a_watched_folder_as_they_are(
    run: RunPaths, folder: Path
) -> None:
    launched = ledger.revisions(run.ledger)[0]
    for name, content in live_run.starting_files().items():
        assert launched.files[name] == files.content_digest(content)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        f"{name}.yaml" for name in ("user", "environment", "reward", "agent")
    )


def test_a_revision_is_written_into_the_watched_folder(run: RunPaths, folder: Path) -> None:
    (folder / "user.yaml").chmod(0o664)
    revision = commit(run)
    assert max_reveals(folder) == "max_reveals: 3"
    assert revision.files["knobs/user.yaml"] == revisions.digest_of(folder / "user.yaml")
    assert (folder / "user.yaml").stat().st_mode & 0o777 == 0o664
    assert run.knobs.is_symlink() and not run.staging.exists()
    assert len(list(folder.iterdir())) == 4


@pytest.fixture
def far_folder(tmp_path: Path) -> Iterator[Path]:
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK) or place.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs /dev/shm, a second file system")
    with tempfile.TemporaryDirectory(dir=place) as name:
        yield Path(name)


def test_the_folder_may_lie_on_another_file_system(tmp_path: Path, far_folder: Path) -> None:
    run = live_run.launch_watching(tmp_path / "run", far_folder)
    commit(run)
    assert max_reveals(far_folder) == "max_reveals: 3"
    assert len(list(far_folder.iterdir())) == 4


class Stop(Exception):
    """Ends a transaction, as a crash of the process would."""


def interrupt_after_the_intent(run: RunPaths) -> None:
    def checkpoint(written: str) -> None:
        if written == "intent":
            raise Stop

    with pytest.raises(Stop):
        commit(run, checkpoint=checkpoint)


def test_a_crash_in_between_is_finished_in_the_folder(run: RunPaths, folder: Path) -> None:
    interrupt_after_the_intent(run)
    assert max_reveals(folder) == "max_reveals: 2"
    assert revisions.recover(run, now=71.0) is not None
    assert max_reveals(folder) == "max_reveals: 3"


def test_a_folder_that_vanished_after_a_crash_is_left_to_the_next_look(
    run: RunPaths, folder: Path
) -> None:
    interrupt_after_the_intent(run)
    shutil.rmtree(folder)
    assert revisions.recover(run, now=71.0) is not None
    assert not folder.exists()
    assert ledger.entries(run.ledger)[-1].body["left"] == ["knobs/user.yaml"]


def test_a_folder_that_is_gone_is_not_made_by_a_revision(run: RunPaths, folder: Path) -> None:
    shutil.rmtree(folder)
    assert rule_of_a_commit(run) == "revision.unwritable"
    assert not folder.exists()


def test_a_link_that_the_launch_did_not_make_is_never_written_through(
    run: RunPaths, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "another")
    run.knobs.unlink()
    run.knobs.symlink_to(tmp_path / "another")
    assert rule_of_a_commit(run) == "revision.foreign_folder"
    with pytest.raises(OutsideRoot, match=f"put the link back: ln -sfn {folder} {run.knobs}"):
        watched.folder(run)


def test_a_run_with_a_folder_of_its_own_follows_no_link_out(tmp_path: Path, folder: Path) -> None:
    run = live_run.launch(tmp_path / "run")
    run.knobs.rename(folder)
    run.knobs.symlink_to(folder)
    assert rule_of_a_commit(run) == "revision.foreign_folder"
    with pytest.raises(OutsideRoot, match="the run watches its own"):
        watched.folder(run)


def test_a_folder_put_in_the_place_of_the_link_is_the_runs_own(run: RunPaths, folder: Path) -> None:
    run.knobs.unlink()
    shutil.copytree(folder, run.knobs)
    assert watched.elsewhere(run) is None
    commit(run)
    assert max_reveals(run.knobs) == "max_reveals: 3"
    assert max_reveals(folder) == "max_reveals: 2"


def test_the_folder_may_be_moved_if_a_link_stays_in_its_place(
    run: RunPaths, folder: Path, tmp_path: Path
) -> None:
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    commit(run)
    assert max_reveals(tmp_path / "moved") == "max_reveals: 3"


def test_of_two_live_runs_only_one_watches_a_folder(tmp_path: Path, folder: Path) -> None:
    folder.mkdir()
    first, second = Mark(folder, tmp_path / "a"), Mark(folder, tmp_path / "b")
    first.take()
    first.take()
    with pytest.raises(Taken, match=rf"{tmp_path}/a \(process {os.getpid()}\)"):
        second.take()
    first.release()
    assert watch_mark.holder(folder) is None and list(folder.iterdir()) == []
    second.take()
    told = watch_mark.holder(folder)
    assert told is not None and told.run == str(tmp_path / "b")
    second.release()


def test_the_mark_of_a_process_that_was_killed_is_a_leftover(tmp_path: Path, folder: Path) -> None:
    folder.mkdir()
    code = (
        "import os, sys, pathlib\n"
        "from gate.contract.watch_mark import Mark\n"
        "Mark(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])).take()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    words = [sys.executable, "-c", code, str(folder), str(tmp_path / "a")]
    assert subprocess.run(words, check=False).returncode == -9
    assert (folder / watch_mark.NAME).is_file() and watch_mark.holder(folder) is None
    mark = Mark(folder, tmp_path / "b")
    mark.take()
    mark.release()
    assert list(folder.iterdir()) == []


def test_a_folder_that_comes_back_without_its_mark_is_marked_again(
    tmp_path: Path, folder: Path
) -> None:
    folder.mkdir()
    mark = Mark(folder, tmp_path / "a")
    mark.take()
    folder.rename(tmp_path / "away")
    with pytest.raises(FileNotFoundError):
        mark.take()
    shutil.copytree(tmp_path / "away", folder)
    mark.take()
    with pytest.raises(Taken):
        Mark(folder, tmp_path / "b").take()
    mark.release()


def test_a_run_that_ended_writes_nothing_where_another_one_watches(
    run: RunPaths, folder: Path, tmp_path: Path
) -> None:
    mark = Mark(folder, tmp_path / "other")
    mark.take()
    assert rule_of_a_commit(run) == "revision.watched_elsewhere"
    mark.release()
    own = Mark(folder, run.root)
    own.take()
    commit(run)
    own.release()


@pytest.mark.parametrize("content", [b"", b"one line", b"\xff\n\xfe\n"])
def test_a_mark_that_says_nothing_still_counts(
    tmp_path: Path, folder: Path, content: bytes
) -> None:
    folder.mkdir()
    mark = Mark(folder, tmp_path / "a")
    mark.take()
    (folder / watch_mark.NAME).write_bytes(content)
    assert watch_mark.holder(folder) is not None
    with pytest.raises(Taken):
        Mark(folder, tmp_path / "b").take()
    mark.release()
