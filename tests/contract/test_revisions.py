"""A revision of several files is in force whole or not at all, and overwrites nobody's edit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gate.contract import files, knobs, ledger, revisions
from gate.contract.findings import Refused
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, EntryKind, Revision, RevisionKind
from gate.contract.paths import OutsideRoot, RunPaths
from tests import live_run

CHANGES = (
    KnobChange("user.max_reveals", 2, 3),
    KnobChange("agent.gae_lambda", 0.95, 0.9),
)


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "run")


def new_files() -> dict[str, bytes]:
    old = live_run.starting_files()
    return {
        "knobs/user.yaml": live_run.with_value(old["knobs/user.yaml"], "max_reveals", 3),
        "knobs/agent.yaml": live_run.with_value(old["knobs/agent.yaml"], "gae_lambda", 0.9),
    }


def commit(
    run: RunPaths,
    contents: dict[str, bytes],
    *,
    checkpoint: revisions.Checkpoint = revisions.unobserved,
) -> Revision:
    return revisions.commit(
        run,
        contents,
        author=Author.UNATTRIBUTED,
        reason="easier questions",
        kind=RevisionKind.COMMAND,
        changes=CHANGES,
        step=7,
        now=70.0,
        checkpoint=checkpoint,
    )


class Stop(Exception):
    """Ends a transaction at a chosen write, as a crash of the process would."""


def stop_after(name: str) -> revisions.Checkpoint:
    def checkpoint(written: str) -> None:
        if written == name:
            raise Stop(name)

    return checkpoint


def interrupt(run: RunPaths, name: str) -> None:
    with pytest.raises(Stop):
        commit(run, new_files(), checkpoint=stop_after(name))


def test_a_revision_puts_all_its_files_and_its_line_in_force(run: RunPaths) -> None:
    revision = commit(run, new_files())
    assert (revision.number, revision.step, revision.reason) == (1, 7, "easier questions")
    assert revision.changes == CHANGES
    for name, content in new_files().items():
        assert (run.root / name).read_bytes() == content
        assert revision.files[name] == files.content_digest(content)
    assert not run.staging.exists()
    assert ledger.verify(run.ledger).ok


def test_the_files_keep_their_permissions(run: RunPaths) -> None:
    run.knob_file("user").chmod(0o664)
    commit(run, new_files())
    assert run.knob_file("user").stat().st_mode & 0o777 == 0o664


def test_a_revision_may_bring_a_new_file_in_a_new_directory(run: RunPaths) -> None:
    revision = commit(run, {"world/0001/travel/user.yaml": b"rules: []\n"})
    assert (run.root / "world/0001/travel/user.yaml").read_bytes() == b"rules: []\n"
    assert list(revision.files) == ["world/0001/travel/user.yaml"]


def test_files_that_are_in_place_already_are_never_written(run: RunPaths) -> None:
    content = live_run.save(run, "user.max_reveals", 3)
    newer = live_run.save(run, "user.max_reveals", 4)
    revision = revisions.commit(
        run,
        {},
        in_place={"knobs/user.yaml": files.content_digest(content)},
        author=Author.UNATTRIBUTED,
        reason="",
        kind=RevisionKind.DIRECT_EDIT,
        changes=CHANGES[:1],
        step=1,
        now=1.0,
    )
    assert revision.files == {"knobs/user.yaml": files.content_digest(content)}
    assert run.knob_file("user").read_bytes() == newer


def test_an_edit_that_nobody_has_looked_at_is_not_written_over(run: RunPaths) -> None:
    edited = live_run.save(run, "user.max_reveals", 1)
    before = run.ledger.read_bytes()
    with pytest.raises(Refused, match="not what the run last adopted"):
        commit(run, new_files())
    assert run.knob_file("user").read_bytes() == edited
    assert run.ledger.read_bytes() == before


def test_a_link_is_not_replaced_by_a_file(run: RunPaths, tmp_path: Path) -> None:
    elsewhere = tmp_path / "shared.yaml"
    os.replace(run.knob_file("user"), elsewhere)
    run.knob_file("user").symlink_to(elsewhere)
    with pytest.raises(Refused, match="link to"):
        commit(run, new_files())
    assert run.knob_file("user").is_symlink()


@pytest.mark.parametrize("name", ["../x.yaml", "/etc/x.yaml", "knobs/../../x", "", "knobs/.."])
def test_no_file_outside_the_run_is_written(run: RunPaths, name: str) -> None:
    with pytest.raises(OutsideRoot):
        commit(run, {name: b"x"})
    assert ledger.revisions(run.ledger)[-1].number == 0


def test_a_run_is_launched_once(run: RunPaths) -> None:
    before = run.ledger.read_bytes()
    with pytest.raises(ValueError, match="has begun already"):
        revisions.launch(
            run,
            {"knobs/user.yaml": b"other"},
            knobs.defaults(),
            author=Author.PERSON,
            reason="again",
            now=1.0,
        )
    assert run.ledger.read_bytes() == before
    assert run.knob_file("user").read_bytes() != b"other"


def test_without_an_intent_nothing_happened(run: RunPaths) -> None:
    interrupt(run, "staged knobs/user.yaml")
    assert revisions.recover(run, now=71.0) is None
    assert not run.staging.exists()
    assert [entry.kind for entry in ledger.entries(run.ledger)] == [EntryKind.LAUNCH]
    assert commit(run, new_files()).number == 1


def test_after_an_intent_the_next_reader_finishes_the_revision(run: RunPaths) -> None:
    interrupt(run, "intent")
    assert ledger.revisions(run.ledger)[-1].number == 0
    finished = revisions.recover(run, now=71.0, step=9)
    assert finished is not None
    assert (finished.number, finished.step) == (1, 9)
    for name, content in new_files().items():
        assert (run.root / name).read_bytes() == content
    assert revisions.recover(run, now=72.0) is None


def test_the_next_revision_finishes_an_interrupted_one_first(run: RunPaths) -> None:
    interrupt(run, "renamed knobs/user.yaml")
    assert commit(run, {"world/0001/x": b"x"}).number == 2
    assert [revision.number for revision in ledger.revisions(run.ledger)] == [0, 1, 2]


def test_a_file_edited_after_a_crash_is_left_to_the_next_look(run: RunPaths) -> None:
    interrupt(run, "intent")
    edited = live_run.save(run, "user.max_reveals", 1)
    finished = revisions.recover(run, now=71.0)
    assert finished is not None
    assert run.knob_file("user").read_bytes() == edited
    assert run.knob_file("agent").read_bytes() == new_files()["knobs/agent.yaml"]
    assert ledger.entries(run.ledger)[-1].body["left"] == ["knobs/user.yaml"]


def test_a_revision_whose_contents_are_lost_is_abandoned_and_says_so(run: RunPaths) -> None:
    interrupt(run, "intent")
    for staged in run.staging.rglob("*agent.yaml"):
        staged.unlink()
    assert revisions.recover(run, now=71.0) is None
    last = ledger.entries(run.ledger)[-1]
    assert (last.kind, last.body["left"]) == (EntryKind.ABANDONED, ["knobs/agent.yaml"])
    old = live_run.starting_files()
    assert run.knob_file("user").read_bytes() == old["knobs/user.yaml"]
    assert commit(run, new_files()).number == 2


def test_a_full_disk_leaves_the_old_revision(run: RunPaths) -> None:
    with live_run.file_size_limit(1000), pytest.raises(files.DiskFull):
        commit(run, new_files())
    assert revisions.recover(run, now=71.0) is None
    for name, content in live_run.starting_files().items():
        assert (run.root / name).read_bytes() == content
    assert commit(run, new_files()).number == 1


def test_the_digest_of_what_is_not_a_file_is_none(tmp_path: Path) -> None:
    assert revisions.digest_of(tmp_path) is None
    assert revisions.digest_of(tmp_path / "missing") is None
    os.mkfifo(tmp_path / "pipe")
    assert revisions.digest_of(tmp_path / "pipe") is None
