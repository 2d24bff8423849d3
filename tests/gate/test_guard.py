"""Knob files come into force whole at a step boundary, or the values in force stay and say why."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gate.contract import files, knobs, ledger, revisions
from gate.contract.findings import Severity
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, EntryKind, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Guard, KnobStatus
from tests import live_run

MASTERED = [0.8] * 20


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "run")


@pytest.fixture
def guard(run: RunPaths) -> Guard:
    return Guard.open(run, worlds=live_run.WORLDS)


def look(guard: Guard, step: int, success: list[float] | None = None) -> KnobStatus:
    return guard.reconcile(step, success_history=success or [], now=float(step))


def kinds(run: RunPaths) -> list[EntryKind]:
    return [entry.kind for entry in ledger.entries(run.ledger)]


def test_without_an_edit_the_launch_values_are_in_force(guard: Guard) -> None:
    status = look(guard, 1)
    assert status == KnobStatus(knobs.defaults(), 0)


def test_a_saved_file_is_in_force_at_the_next_step(run: RunPaths, guard: Guard) -> None:
    look(guard, 1)
    live_run.save(run, "agent.gae_lambda", 0.9)
    status = look(guard, 2)
    assert status.knobs.get("agent.gae_lambda") == 0.9
    assert status.changed == (KnobChange("agent.gae_lambda", 0.95, 0.9),)
    assert (status.revision, dict(status.since_step)) == (1, {"agent.gae_lambda": 2})
    revision = ledger.revisions(run.ledger)[-1]
    assert (revision.kind, revision.author) == (RevisionKind.DIRECT_EDIT, Author.UNATTRIBUTED)
    later = look(guard, 3)
    assert (later.revision, later.changed) == (1, ())


def test_all_files_saved_since_the_last_step_are_one_revision(run: RunPaths, guard: Guard) -> None:
    live_run.save(run, "agent.gae_lambda", 0.9)
    live_run.save(run, "user.max_reveals", 3)
    assert [change.path for change in look(guard, 1).changed] == [
        "user.max_reveals",
        "agent.gae_lambda",
    ]
    assert [revision.number for revision in ledger.revisions(run.ledger)] == [0, 1]


def test_of_two_saves_within_a_step_the_last_one_counts(run: RunPaths, guard: Guard) -> None:
    live_run.save(run, "agent.actor_lr", 2e-6)
    live_run.save(run, "agent.actor_lr", 3e-6)
    assert look(guard, 1).knobs.get("agent.actor_lr") == 3e-6


def test_one_bad_file_refuses_the_good_one_beside_it(run: RunPaths, guard: Guard) -> None:
    live_run.save(run, "agent.gae_lambda", 0.9)
    live_run.save(run, "user.match_threshold", 7)
    status = look(guard, 1)
    assert (status.revision, status.changed) == (0, ())
    assert status.knobs == knobs.defaults()
    (found,) = status.refused
    assert (found.file, found.path, found.value) == (
        "knobs/user.yaml",
        "user.match_threshold",
        7,
    )
    assert found.line is not None
    live_run.save(run, "user.match_threshold", 0.6)
    assert [change.path for change in look(guard, 2).changed] == ["agent.gae_lambda"]


def test_a_refusal_is_told_at_every_step_and_recorded_once(run: RunPaths, guard: Guard) -> None:
    live_run.save(run, "user.match_threshold", 7)
    told = [look(guard, step).refused for step in range(1, 6)]
    assert all(told)
    assert len(set(told)) == 1
    assert kinds(run) == [EntryKind.LAUNCH, EntryKind.REFUSED]
    again = Guard.open(run, worlds=live_run.WORLDS)
    assert look(again, 6).refused == told[0]
    assert kinds(run) == [EntryKind.LAUNCH, EntryKind.REFUSED]


def test_a_rewrite_of_the_same_bytes_is_no_edit(run: RunPaths, guard: Guard) -> None:
    content = live_run.save(run, "agent.gae_lambda", 0.9)
    look(guard, 1)
    before = run.ledger.read_bytes()
    for step in range(2, 52):
        files.write_whole(run.knob_file("agent"), content)
        assert look(guard, step).revision == 1
    assert run.ledger.read_bytes() == before


def test_a_comment_is_an_edit_that_changes_no_value(run: RunPaths, guard: Guard) -> None:
    look(guard, 1)
    file = run.knob_file("agent")
    file.write_bytes(b"# tried 0.9 before\n" + file.read_bytes())
    status = look(guard, 2)
    assert (status.changed, status.refused) == ((), ())
    assert status.knobs == knobs.defaults()
    look(guard, 3)
    assert kinds(run) == [EntryKind.LAUNCH, EntryKind.INTENT, EntryKind.COMMITTED]


def test_a_harder_edit_waits_until_the_policy_has_mastered_the_tasks(
    run: RunPaths, guard: Guard
) -> None:
    live_run.save(run, "environment.max_steps", 17)
    assert [found.rule for found in look(guard, 1).refused] == ["rules.difficulty"]
    assert [found.rule for found in look(guard, 2, [0.79] * 20).refused] == ["rules.difficulty"]
    status = look(guard, 3, MASTERED)
    assert status.knobs.get("environment.max_steps") == 17
    assert status.since_step == {"environment.max_steps": 3}
    refused = [entry for entry in ledger.entries(run.ledger) if entry.kind is EntryKind.REFUSED]
    assert len(refused) == 1


def test_a_large_step_is_in_force_and_stays_doubtful(run: RunPaths, guard: Guard) -> None:
    live_run.save(run, "agent.actor_lr", 1e-4)
    for step in (1, 2, 3):
        status = look(guard, step)
        assert status.knobs.get("agent.actor_lr") == 1e-4
        assert [found.severity for found in status.warnings] == [Severity.WARNING]
    live_run.save(run, "agent.actor_lr", 2e-4)
    assert look(guard, 4).warnings == ()


def test_an_empty_file_is_waited_for_and_then_told(run: RunPaths, guard: Guard) -> None:
    content = run.knob_file("user").read_bytes()
    run.knob_file("user").write_bytes(b"")
    assert [bool(look(guard, step).refused) for step in range(1, 6)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert [found.rule for found in guard.status.refused] == ["knobs.empty"]
    run.knob_file("user").write_bytes(content)
    assert look(guard, 6).refused == ()
    run.knob_file("user").write_bytes(b"")
    assert look(guard, 7).refused == ()


def test_a_fault_beside_a_half_saved_file_is_told_at_once(run: RunPaths, guard: Guard) -> None:
    run.knob_file("user").write_bytes(b"")
    live_run.save(run, "agent.gae_lambda", "high")
    assert {found.rule for found in look(guard, 1).refused} == {"knobs.empty", "knobs.type"}


def test_what_was_edited_while_the_run_was_down_is_taken_up_and_told(run: RunPaths) -> None:
    live_run.save(run, "agent.actor_lr", 1e-4)
    guard = Guard.open(run, worlds=live_run.WORLDS)
    assert guard.status.knobs.get("agent.actor_lr") == 1e-6
    status = look(guard, 5)
    assert status.changed == (KnobChange("agent.actor_lr", 1e-6, 1e-4),)
    assert status.since_step == {"agent.actor_lr": 5}


def test_a_revision_by_a_command_is_taken_up_as_it_is(run: RunPaths, guard: Guard) -> None:
    look(guard, 1)
    name = "knobs/agent.yaml"
    content = live_run.with_value(run.knob_file("agent").read_bytes(), "gae_lambda", 0.9)
    revisions.commit(
        run,
        {name: content},
        author=Author.GATE,
        reason="asked for",
        kind=RevisionKind.COMMAND,
        changes=[KnobChange("agent.gae_lambda", 0.95, 0.9)],
        step=2,
        now=2.0,
    )
    status = look(guard, 2)
    assert (status.revision, status.knobs.get("agent.gae_lambda")) == (1, 0.9)
    assert status.changed == (KnobChange("agent.gae_lambda", 0.95, 0.9),)
    assert kinds(run) == [EntryKind.LAUNCH, EntryKind.INTENT, EntryKind.COMMITTED]


def test_a_replay_runs_under_recorded_revisions_and_then_goes_on(run: RunPaths) -> None:
    guard = Guard.open(run, worlds=live_run.WORLDS)
    for step, value in enumerate((0.9, 0.85, 0.8), start=1):
        live_run.save(run, "agent.gae_lambda", value)
        look(guard, step)
    resumed = Guard.open(run, worlds=live_run.WORLDS, at_revision=1)
    assert resumed.status.knobs.get("agent.gae_lambda") == 0.9
    assert resumed.at_revision(0).get("agent.gae_lambda") == 0.95
    assert resumed.return_to(2).knobs.get("agent.gae_lambda") == 0.85
    assert resumed.status.since_step == {"agent.gae_lambda": 2}
    status = look(resumed, 3)
    assert status.changed == (KnobChange("agent.gae_lambda", 0.85, 0.8),)
    with pytest.raises(ValueError, match="no revision 9; the newest is 3"):
        resumed.at_revision(9)


def test_an_interrupted_revision_is_finished_by_the_next_look(run: RunPaths, guard: Guard) -> None:
    look(guard, 1)
    content = live_run.save(run, "agent.gae_lambda", 0.9)

    class Stop(Exception):
        """Ends the transaction after its intent."""

    def stop(name: str) -> None:
        raise Stop(name)

    with pytest.raises(Stop):
        revisions.commit(
            run,
            {},
            in_place={"knobs/agent.yaml": files.content_digest(content)},
            author=Author.UNATTRIBUTED,
            reason="",
            kind=RevisionKind.DIRECT_EDIT,
            changes=[KnobChange("agent.gae_lambda", 0.95, 0.9)],
            step=2,
            now=2.0,
            checkpoint=stop,
        )
    status = look(guard, 4)
    assert (status.revision, status.since_step) == (1, {"agent.gae_lambda": 4})


def test_a_busy_lock_postpones_the_edit_and_says_who_holds_it(run: RunPaths, guard: Guard) -> None:
    look(guard, 1)
    live_run.save(run, "agent.gae_lambda", 0.9)
    with live_run.locked_elsewhere(run):
        status = look(guard, 2)
    assert (status.revision, [found.rule for found in status.refused]) == (0, ["guard.lock-busy"])
    assert "process" in status.refused[0].message
    status = look(guard, 3)
    assert (status.revision, status.refused) == (1, ())


def test_a_full_disk_postpones_the_edit(run: RunPaths, guard: Guard) -> None:
    look(guard, 1)
    live_run.save(run, "agent.gae_lambda", 0.9)
    with live_run.file_size_limit(run.ledger.stat().st_size + 10):
        status = look(guard, 2)
        assert look(guard, 3).revision == 0
    assert (status.revision, [found.rule for found in status.refused]) == (0, ["guard.disk-full"])
    assert look(guard, 4).knobs.get("agent.gae_lambda") == 0.9
    assert ledger.verify(run.ledger).ok


@pytest.mark.parametrize("damage", ["gone", "cut", "edited"])
def test_a_damaged_ledger_leaves_the_values_in_force_and_is_told(
    run: RunPaths, guard: Guard, damage: str
) -> None:
    live_run.save(run, "agent.gae_lambda", 0.9)
    look(guard, 1)
    whole = run.ledger.read_bytes()
    if damage == "gone":
        run.ledger.unlink()
    elif damage == "cut":
        run.ledger.write_bytes(whole.splitlines(keepends=True)[0])
    else:
        run.ledger.write_bytes(whole.replace(b'"a test"', b'"b test!"'))
    live_run.save(run, "agent.gae_lambda", 0.8)
    for step in (2, 3):
        status = look(guard, step)
        assert status.knobs.get("agent.gae_lambda") == 0.9
        assert [found.rule for found in status.refused] == ["guard.ledger-damaged"]
    run.ledger.write_bytes(whole)
    assert look(guard, 4).knobs.get("agent.gae_lambda") == 0.8


def test_a_run_without_a_trustworthy_ledger_does_not_open(run: RunPaths) -> None:
    run.ledger.write_bytes(run.ledger.read_bytes().replace(b'"seq":0', b'"seq":1'))
    with pytest.raises(ledger.Damaged, match="line 1"):
        Guard.open(run, worlds=live_run.WORLDS)


def test_looking_without_a_change_costs_less_than_a_tenth_of_a_millisecond(
    run: RunPaths, guard: Guard
) -> None:
    look(guard, 1)

    def cost_s() -> float:
        began = time.perf_counter()
        for _ in range(50):
            guard.reconcile(2, success_history=(), now=2.0)
        return (time.perf_counter() - began) / 50

    # The best of several: a shared machine may be slow at times, but it cannot be fast by chance.
    assert min(cost_s() for _ in range(20)) <= 100e-6
