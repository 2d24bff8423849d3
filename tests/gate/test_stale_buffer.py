"""An editor buffer that would silently undo a newer revision is refused with that sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.contract import knobs, ledger, revisions
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Guard, KnobStatus
from tests import live_run


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "run")


@pytest.fixture
def guard(run: RunPaths) -> Guard:
    return Guard.open(run, worlds=live_run.WORLDS)


def look(guard: Guard, step: int) -> KnobStatus:
    return guard.reconcile(step, success_history=[0.9] * 20, now=float(step))


def command(run: RunPaths, path: str, value: Any, reason: str = "asked for") -> None:
    """Change a knob as the gate's commands do."""
    name, _, key = path.partition(".")
    file = run.knob_file(name)
    current = ledger.fold(run.ledger, knobs.defaults())
    revisions.commit(
        run,
        {f"knobs/{name}.yaml": live_run.with_value(file.read_bytes(), key, value)},
        author=Author.GATE,
        reason=reason,
        kind=RevisionKind.COMMAND,
        changes=[KnobChange(path, current.get(path), value)],
        step=1,
        now=1.0,
    )


def test_an_old_buffer_saved_over_a_newer_revision_is_refused(run: RunPaths, guard: Guard) -> None:
    look(guard, 1)
    buffer = run.knob_file("user").read_bytes()
    command(run, "user.match_threshold", 0.5, reason="users forget too much")
    look(guard, 2)
    run.knob_file("user").write_bytes(live_run.with_value(buffer, "max_reveals", 3))
    status = look(guard, 3)
    assert status.knobs.get("user.match_threshold") == 0.5
    assert status.knobs.get("user.max_reveals") == 2
    (found,) = status.refused
    assert found.rule == "guard.stale-buffer"
    assert found.message == (
        "knobs/user.yaml is an older copy: it would silently undo revision 1 "
        "(users forget too much) by putting user.match_threshold back from 0.5 to 0.6."
    )
    assert "Write 0.5 there and save, to keep revision 1" in found.next_step
    assert "`gate set RUN user.match_threshold 0.6 --reason`" in found.next_step


def test_the_edit_made_on_the_newer_values_is_taken_up(run: RunPaths, guard: Guard) -> None:
    buffer = run.knob_file("user").read_bytes()
    command(run, "user.match_threshold", 0.5)
    run.knob_file("user").write_bytes(live_run.with_value(buffer, "max_reveals", 3))
    assert look(guard, 1).refused
    live_run.save(run, "user.match_threshold", 0.5)
    status = look(guard, 2)
    assert status.refused == ()
    assert [change.path for change in status.changed] == ["user.max_reveals"]
    assert status.knobs.get("user.match_threshold") == 0.5


def test_an_old_buffer_saved_unchanged_over_a_command_is_refused(
    run: RunPaths, guard: Guard
) -> None:
    look(guard, 1)
    buffer = run.knob_file("user").read_bytes()
    command(run, "user.match_threshold", 0.5)
    look(guard, 2)
    run.knob_file("user").write_bytes(buffer)
    assert [found.rule for found in look(guard, 3).refused] == ["guard.stale-buffer"]


def test_an_old_buffer_saved_over_another_direct_edit_is_refused(
    run: RunPaths, guard: Guard
) -> None:
    buffer = run.knob_file("user").read_bytes()
    live_run.save(run, "user.match_threshold", 0.5)
    look(guard, 1)
    run.knob_file("user").write_bytes(live_run.with_value(buffer, "max_reveals", 3))
    (found,) = look(guard, 2).refused
    assert found.path == "user.match_threshold"
    assert "save that alone" in found.next_step


def test_putting_back_a_value_of_ones_own_is_meant(run: RunPaths, guard: Guard) -> None:
    for step, value in enumerate((0.5, 0.6, 0.5, 0.6), start=1):
        live_run.save(run, "user.match_threshold", value)
        status = look(guard, step)
        assert (status.refused, status.revision) == ((), step)


def test_two_files_are_two_buffers(run: RunPaths, guard: Guard) -> None:
    live_run.save(run, "user.match_threshold", 0.5)
    look(guard, 1)
    live_run.save(run, "user.match_threshold", 0.6)
    live_run.save(run, "agent.gae_lambda", 0.9)
    status = look(guard, 2)
    assert status.refused == ()
    assert len(status.changed) == 2


def test_a_buffer_may_be_several_revisions_old(run: RunPaths, guard: Guard) -> None:
    buffer = run.knob_file("user").read_bytes()
    command(run, "user.match_threshold", 0.5)
    command(run, "user.max_reply_chars", 300)
    command(run, "user.match_threshold", 0.45)
    run.knob_file("user").write_bytes(live_run.with_value(buffer, "max_reveals", 3))
    refused = look(guard, 1).refused
    assert [(found.path, found.message.split("revision ")[1][0]) for found in refused] == [
        ("user.match_threshold", "3"),
        ("user.max_reply_chars", "2"),
    ]


def test_a_new_value_is_no_old_buffer(run: RunPaths, guard: Guard) -> None:
    command(run, "user.match_threshold", 0.5)
    live_run.save(run, "user.match_threshold", 0.55)
    assert look(guard, 1).refused == ()
