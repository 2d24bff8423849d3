"""A process may die between any two writes of a new world: old or new, never half of each."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from gate.contract import ledger, revisions, world_folder
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Guard
from tests import live_run

FILES = ("env.py", "user.yaml")


def new_files() -> dict[str, bytes]:
    """Return three knob files and a whole folder of two worlds, as revision 1 writes them."""
    old = live_run.starting_files()
    return {
        "knobs/user.yaml": live_run.with_value(old["knobs/user.yaml"], "max_reveals", 3),
        "knobs/agent.yaml": live_run.with_value(old["knobs/agent.yaml"], "gae_lambda", 0.9),
        "knobs/reward.yaml": live_run.with_value(old["knobs/reward.yaml"], "task_weight", 1.5),
        **{
            f"world/0001/{world}/{name}": f"# {world} {name}\n".encode()
            for world in live_run.WORLDS
            for name in FILES
        },
    }


CHANGES = (
    KnobChange("user.max_reveals", 2, 3),
    KnobChange("reward.task_weight", 1.0, 1.5),
    KnobChange("agent.gae_lambda", 0.95, 0.9),
)

PATHS = tuple(new_files())
WRITES = (
    "staging",
    *(f"staged {path}" for path in PATHS),
    "intent",
    *(f"renamed {path}" for path in PATHS),
    "committed",
    "cleared",
)
"""The writes of one revision of three knob files and two worlds, in order."""


def commit(run: RunPaths, checkpoint: revisions.Checkpoint) -> None:
    revisions.commit(
        run,
        new_files(),
        author=Author.META_AGENT,
        reason="a test",
        kind=RevisionKind.COMMAND,
        changes=CHANGES,
        step=2,
        now=2.0,
        world=1,
        checkpoint=checkpoint,
    )


def die_after(root: Path, write: str) -> None:
    def checkpoint(written: str) -> None:
        if written == write:
            os._exit(9)

    commit(RunPaths(root), checkpoint)


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "run")


def test_these_are_all_the_writes(run: RunPaths) -> None:
    written: list[str] = []
    commit(run, written.append)
    assert tuple(written) == WRITES


@pytest.mark.parametrize("write", WRITES)
def test_the_next_reader_sees_the_old_worlds_or_the_new_ones(run: RunPaths, write: str) -> None:
    guard = Guard.open(run, worlds=live_run.WORLDS)
    guard.reconcile(1, success_history=(), now=1.0)
    child = multiprocessing.get_context("spawn").Process(target=die_after, args=(run.root, write))
    child.start()
    child.join()
    assert child.exitcode == 9
    status = guard.reconcile(3, success_history=(), now=3.0)
    new = WRITES.index(write) >= WRITES.index("intent")
    values = [status.knobs.get(change.path) for change in CHANGES]
    assert values == [change.new if new else change.old for change in CHANGES]
    assert (status.revision, status.world_revision) == (int(new), int(new))
    assert guard.condition(status.revision).world_revision == int(new)
    assert status.refused == ()
    found = world_folder.read_all(run.world_revision(1), live_run.WORLDS, told="new")
    expected = {
        path.removeprefix("world/0001/"): content
        for path, content in new_files().items()
        if path.startswith("world/")
    }
    assert found == (expected if new else {})
    assert ledger.verify(run.ledger).ok
    assert revisions.recover(run, now=4.0) is None
    assert not run.staging.exists()
