"""Under each revision one numbered folder of worlds is in force; a revert names an older one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract import ledger, revisions
from gate.contract.findings import Refused
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, Revision, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Condition, Guard, applying
from tests import live_run


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "run")


def new_worlds(run: RunPaths, step: int, text: bytes = b"# new\n") -> Revision:
    """Commit a revision that brings a whole new folder of worlds."""
    number = ledger.next_revision(run.ledger)
    return revisions.commit(
        run,
        {f"world/{number:04d}/{world}/env.py": text for world in live_run.WORLDS},
        author=Author.GATE,
        reason="a test",
        kind=RevisionKind.COMMAND,
        changes=(),
        step=step,
        now=float(step),
        world=number,
    )


def new_knob(run: RunPaths, step: int) -> Revision:
    """Commit a revision that moves a knob alone."""
    content = live_run.with_value(run.knob_file("user").read_bytes(), "max_reveals", 3)
    return revisions.commit(
        run,
        {"knobs/user.yaml": content},
        author=Author.GATE,
        reason="a test",
        kind=RevisionKind.COMMAND,
        changes=(KnobChange("user.max_reveals", 2, 3),),
        step=step,
        now=float(step),
    )


def revert(run: RunPaths, number: int) -> Revision:
    return applying.revert(
        run, number, reason="a test", worlds=live_run.WORLDS, now=9.0, timeout_s=1.0
    )


def test_a_revision_keeps_the_worlds_of_its_base_until_one_brings_others(run: RunPaths) -> None:
    new_knob(run, 1)
    new_worlds(run, 2)
    assert [one.world for one in ledger.revisions(run.ledger)] == [0, 0, 2]
    guard = Guard.open(run, worlds=live_run.WORLDS)
    assert guard.status.world_revision == 2
    old, new = guard.condition(1), guard.condition(2)
    assert old == Condition(guard.at_revision(1), 1, 0)
    assert (new.world_revision, new.knobs) == (2, old.knobs)
    assert guard.return_to(1).world_revision == 0


def test_a_condition_of_no_revision_is_an_error(run: RunPaths) -> None:
    with pytest.raises(ValueError, match="the newest is 0"):
        Guard.open(run, worlds=live_run.WORLDS).condition(1)


def test_a_revert_names_the_older_folder_and_writes_none(run: RunPaths) -> None:
    new_worlds(run, 1)
    before = sorted(run.world.rglob("*"))
    made = revert(run, 1)
    assert (made.number, made.world, made.details) == (2, 0, {"reverts": 1})
    assert sorted(run.world.rglob("*")) == before
    again = revert(run, 2)
    assert (again.number, again.world) == (3, 1)


def test_a_revert_of_a_knob_leaves_newer_worlds_in_force(run: RunPaths) -> None:
    new_knob(run, 1)
    new_worlds(run, 2)
    made = revert(run, 1)
    assert (made.world, made.changes) == (2, (KnobChange("user.max_reveals", 3, 2),))


def test_worlds_that_were_moved_again_are_not_taken_back_alone(run: RunPaths) -> None:
    new_worlds(run, 1)
    new_worlds(run, 2, b"# newer\n")
    with pytest.raises(Refused, match="Take revision 2 back first"):
        revert(run, 1)
    assert revert(run, 2).world == 1
    assert revert(run, 1).world == 0


def test_the_trainer_is_told_at_the_step_boundary(run: RunPaths) -> None:
    guard = Guard.open(run, worlds=live_run.WORLDS)
    assert guard.reconcile(1, success_history=(), now=1.0).world_revision == 0
    new_worlds(run, 2)
    status = guard.reconcile(2, success_history=(), now=2.0)
    assert (status.revision, status.world_revision, status.changed) == (1, 1, ())
