"""Knob files that are missing, half there, swapped or broken never put a wrong value in force."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.contract import knobs, ledger
from gate.contract.ledger import EntryKind
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
    return guard.reconcile(step, success_history=(), now=float(step))


def refusals(run: RunPaths) -> int:
    return sum(entry.kind is EntryKind.REFUSED for entry in ledger.entries(run.ledger))


def test_no_step_runs_on_a_value_of_neither_version_while_a_file_is_saved_in_place(
    run: RunPaths, guard: Guard
) -> None:
    file = run.knob_file("agent")
    saved = {value: live_run.save(run, "agent.gae_lambda", value) for value in (0.91, 0.92)}
    look(guard, 1)
    done = threading.Event()

    def write() -> None:
        for number in range(300):
            content = saved[0.91 if number % 2 else 0.92]
            with file.open("wb", buffering=0) as stream:
                stream.write(content[: 20 + 7 * number])
                stream.write(content[20 + 7 * number :])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen: set[float] = set()
    step = 1
    while not done.is_set():
        step += 1
        status = look(guard, step)
        seen.add(status.knobs.get("agent.gae_lambda"))
        others = knobs.diff(knobs.defaults(), status.knobs)
        assert [change.path for change in others] == ["agent.gae_lambda"]
    writer.join()
    assert seen <= {0.91, 0.92}
    status = look(guard, step + 1)
    assert status.knobs.get("agent.gae_lambda") == 0.91
    assert status.refused == ()


def test_a_file_cut_at_any_byte_is_never_a_value_of_neither_version(
    run: RunPaths, guard: Guard
) -> None:
    whole = live_run.save(run, "agent.entropy_coeff", 0.004)
    file = run.knob_file("agent")
    end = whole.rindex(knobs.END.encode()) + len(knobs.END)
    for step, cut in enumerate((*range(0, end, 37), *range(end - 40, end)), start=1):
        file.write_bytes(whole[:cut])
        status = look(guard, step)
        assert status.knobs == knobs.defaults(), f"cut after {cut} bytes"
        assert status.revision == 0
    file.write_bytes(whole)
    assert look(guard, step + 1).knobs.get("agent.entropy_coeff") == 0.004


def test_a_half_saved_file_is_told_with_its_place_until_it_is_mended(
    run: RunPaths, guard: Guard
) -> None:
    whole = run.knob_file("agent").read_bytes()
    run.knob_file("agent").write_bytes(whole[: len(whole) // 2])
    told = [look(guard, step).refused for step in range(1, 6)]
    assert [bool(found) for found in told] == [False, False, True, True, True]
    assert told[-1][0].rule == "knobs.unfinished"
    assert (told[-1][0].file, told[-1][0].next_step != "") == ("knobs/agent.yaml", True)
    assert told[-1][0].line is not None
    run.knob_file("agent").write_bytes(whole)
    assert look(guard, 6).refused == ()


def vanish(file: Path) -> None:
    file.unlink()


def become_a_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def become_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def become_a_broken_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


def become_binary(file: Path) -> None:
    file.write_bytes(bytes(range(256)) * 16)


def become_huge(file: Path) -> None:
    file.write_bytes(b"# much ado\n" * 100_000)


def lose_permission(file: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read a file of any mode; the directory in its place stands for it")
    file.chmod(0)


@pytest.mark.parametrize(
    "spoil",
    [
        vanish,
        become_a_directory,
        become_a_pipe,
        become_a_broken_link,
        become_binary,
        become_huge,
        lose_permission,
    ],
)
def test_a_file_that_cannot_be_read_leaves_the_last_good_values_until_it_is_back(
    run: RunPaths, guard: Guard, spoil: Callable[[Path], None]
) -> None:
    file = run.knob_file("user")
    content = live_run.save(run, "user.max_reveals", 3)
    look(guard, 1)
    spoil(file)
    for step in (2, 3, 4):
        status = look(guard, step)
        assert status.knobs.get("user.max_reveals") == 3
        assert {found.file for found in status.refused} == {"knobs/user.yaml"}
        assert all(found.message and found.next_step for found in status.refused)
    assert refusals(run) == 1
    if file.is_dir():
        file.rmdir()
    elif file.exists() or file.is_symlink():
        file.unlink()
    file.write_bytes(content)
    status = look(guard, 5)
    assert (status.refused, status.revision, status.changed) == ((), 1, ())


def test_a_run_whose_knobs_directory_vanished_goes_on(run: RunPaths, guard: Guard) -> None:
    look(guard, 1)
    run.knobs.rename(run.root / "elsewhere")
    status = look(guard, 2)
    assert status.knobs == knobs.defaults()
    (told,) = status.refused
    assert f"None of the knob files in {run.knobs} can be read" in told.message
    assert "Put the folder back" in told.next_step
    (run.root / "elsewhere").rename(run.knobs)
    assert look(guard, 3).refused == ()


def test_a_file_that_is_refused_is_never_touched(run: RunPaths, guard: Guard) -> None:
    file = run.knob_file("user")
    file.write_bytes(b"max_reveals:\t3\n" + file.read_bytes())
    before = (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino)
    names = sorted(path.name for path in run.knobs.iterdir())
    assert look(guard, 1).refused
    assert (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) == before
    assert sorted(path.name for path in run.knobs.iterdir()) == names


def test_a_swapped_link_is_seen_by_what_it_leads_to(
    run: RunPaths, guard: Guard, tmp_path: Path
) -> None:
    file = run.knob_file("agent")
    for value in (0.91, 0.92):
        content = live_run.with_value(file.read_bytes(), "gae_lambda", value)
        (tmp_path / f"{value}.yaml").write_bytes(content)
    for step, value in enumerate((0.91, 0.92), start=1):
        swapped = tmp_path / "swapped"
        swapped.symlink_to(tmp_path / f"{value}.yaml")
        os.replace(swapped, file)
        assert look(guard, step).knobs.get("agent.gae_lambda") == value


def test_other_bytes_of_the_same_size_and_age_are_seen(run: RunPaths, guard: Guard) -> None:
    file = run.knob_file("agent")
    live_run.save(run, "agent.gae_lambda", 0.91)
    look(guard, 1)
    before = file.stat()
    live_run.save(run, "agent.gae_lambda", 0.92)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert look(guard, 2).knobs.get("agent.gae_lambda") == 0.92


def test_a_file_broken_and_mended_ten_times_is_recorded_once_for_each_version(
    run: RunPaths, guard: Guard
) -> None:
    file = run.knob_file("agent")
    step = 0
    for number in range(10):
        good = live_run.save(run, "agent.total_steps", 100 + number)
        for content, refused in ((b"broken: [\n" + good, True), (good, False)):
            file.write_bytes(content)
            for _ in range(2):
                step += 1
                assert bool(look(guard, step).refused) is refused
    values = [
        change.new for revision in ledger.revisions(run.ledger) for change in revision.changes
    ]
    assert values == [100 + number for number in range(10)]
    assert refusals(run) == 10
    assert ledger.verify(run.ledger).ok


def test_a_clock_that_moves_back_changes_nothing(run: RunPaths, guard: Guard) -> None:
    for step, now in ((1, 100.0), (2, -5.0), (3, 50.0)):
        live_run.save(run, "agent.total_steps", step)
        status = guard.reconcile(step, success_history=(), now=now)
        assert status.knobs.get("agent.total_steps") == step
    assert ledger.verify(run.ledger).ok
