"""A process may die between any two writes of a revision: it is in force whole or not at all."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from gate.contract import files, knobs, ledger, revisions
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Guard
from tests import live_run

WRITES = (
    "staging",
    "staged knobs/user.yaml",
    "staged knobs/agent.yaml",
    "intent",
    "renamed knobs/user.yaml",
    "renamed knobs/agent.yaml",
    "committed",
    "cleared",
)
"""The writes of one revision of two files, in order."""

CHANGES = (
    KnobChange("user.max_reveals", 2, 3),
    KnobChange("agent.gae_lambda", 0.95, 0.9),
)


def new_files() -> dict[str, bytes]:
    old = live_run.starting_files()
    return {
        "knobs/user.yaml": live_run.with_value(old["knobs/user.yaml"], "max_reveals", 3),
        "knobs/agent.yaml": live_run.with_value(old["knobs/agent.yaml"], "gae_lambda", 0.9),
    }


def commit(run: RunPaths, checkpoint: revisions.Checkpoint) -> None:
    revisions.commit(
        run,
        new_files(),
        author=Author.GATE,
        reason="a test",
        kind=RevisionKind.COMMAND,
        changes=CHANGES,
        step=2,
        now=2.0,
        checkpoint=checkpoint,
    )


def die_after(root: Path, write: str) -> None:
    def checkpoint(written: str) -> None:
        if written == write:
            os._exit(9)

    commit(RunPaths(root), checkpoint)


def interrupt(run: RunPaths, write: str) -> None:
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=die_after, args=(run.root, write))
    child.start()
    child.join()
    assert child.exitcode == 9


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "run")


def test_these_are_all_the_writes(run: RunPaths) -> None:
    written: list[str] = []
    commit(run, written.append)
    assert tuple(written) == WRITES


@pytest.mark.parametrize("write", WRITES)
def test_the_next_reader_sees_the_old_revision_or_the_new_one(run: RunPaths, write: str) -> None:
    guard = Guard.open(run, worlds=live_run.WORLDS)
    guard.reconcile(1, success_history=(), now=1.0)
    interrupt(run, write)
    status = guard.reconcile(3, success_history=(), now=3.0)
    new = WRITES.index(write) >= WRITES.index("intent")
    values = (status.knobs.get("user.max_reveals"), status.knobs.get("agent.gae_lambda"))
    assert values == ((3, 0.9) if new else (2, 0.95))
    assert status.revision == int(new)
    assert status.changed == (CHANGES if new else ())
    assert status.refused == ()
    expected = {**live_run.starting_files(), **(new_files() if new else {})}
    assert {name: (run.root / name).read_bytes() for name in expected} == expected
    assert ledger.verify(run.ledger).ok
    assert ledger.fold(run.ledger, knobs.defaults()) == status.knobs
    assert revisions.recover(run, now=4.0) is None
    assert not run.staging.exists()


@pytest.mark.parametrize("cut", (0, 1, 100, 250))
def test_an_intent_that_was_cut_short_never_was(run: RunPaths, cut: int) -> None:
    launched = run.ledger.read_bytes()
    interrupt(run, "intent")
    whole = run.ledger.read_bytes()
    run.ledger.write_bytes(whole[: len(launched) + cut])
    guard = Guard.open(run, worlds=live_run.WORLDS)
    status = guard.reconcile(1, success_history=(), now=1.0)
    assert (status.revision, status.knobs) == (0, knobs.defaults())
    commit(run, revisions.unobserved)
    assert guard.reconcile(2, success_history=(), now=2.0).changed == CHANGES
    assert ledger.verify(run.ledger).ok


def test_two_processes_do_not_mix_their_revisions(run: RunPaths) -> None:
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=adopt_many, args=(run.root,)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert [revision.number for revision in ledger.revisions(run.ledger)] == list(range(21))
    assert ledger.verify(run.ledger) == ledger.Chain(ok=True, length=41)


def adopt_many(root: Path) -> None:
    for number in range(10):
        revisions.commit(
            RunPaths(root),
            {f"world/{os.getpid()}/{number}": b"x"},
            author=Author.GATE,
            reason="",
            kind=RevisionKind.COMMAND,
            changes=(),
            step=number,
            now=float(number),
        )


def test_a_process_that_dies_in_a_step_releases_the_lock(run: RunPaths) -> None:
    interrupt(run, "renamed knobs/user.yaml")
    with files.run_lock(run.root, timeout_s=0):
        assert ledger.pending(run.ledger) is not None
