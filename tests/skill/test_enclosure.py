"""A command in an enclosure writes only where it may, reads nothing hidden, and leaves nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skill.supervisor import enclosure
from skill.supervisor.enclosure import Kind, Plan

SHELL = ("/bin/sh", "-c")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    for name in ("open", "hidden", "closed", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "hidden" / "answers.txt").write_text("SECRET")
    (tmp_path / "closed" / "record.jsonl").write_text("kept\n")
    return Plan(
        writable=((tmp_path / "open", tmp_path / "open"),),
        hidden=(tmp_path / "hidden", tmp_path / "is not there"),
        network=False,
        closed=(tmp_path / "closed",),
    )


@pytest.fixture(params=[Kind.BUBBLEWRAP, Kind.NAMESPACES])
def kind(request: pytest.FixtureRequest, plan: Plan, tmp_path: Path) -> Kind:
    found, reasons = enclosure.best(plan, cwd=tmp_path, kinds=[request.param])
    if found is Kind.NONE:
        pytest.skip(f"no such enclosure on this machine: {reasons[0]}")
    return found


def run(kind: Kind, plan: Plan, where: Path, *command: str) -> subprocess.CompletedProcess[str]:
    words = enclosure.wrap(kind, plan, command)
    return subprocess.run(words, cwd=where, capture_output=True, text=True, timeout=60, check=False)


def test_whatever_lies_in_closed_and_open_folders_does_not_look_like_a_broken_fence(
    kind: Kind, plan: Plan, tmp_path: Path
) -> None:
    for name in (".probe", ".staging", ".trial"):
        (tmp_path / "closed" / name).mkdir()
        (tmp_path / "open" / name).mkdir()
    before = sorted(tmp_path.rglob("*"))
    assert enclosure.best(plan, cwd=tmp_path, kinds=[kind]) == (kind, [])
    assert sorted(tmp_path.rglob("*")) == before


ATTACKS = {
    "read": "cat hidden/answers.txt",
    "glob": "cat h*/ans*",
    "grep": "grep -r SECRET .",
    "python": f"{sys.executable} -c \"print(open('hidden/answers.txt').read())\"",
    "new link": "ln -s ../hidden/answers.txt open/link; cat open/link",
    "process": "cat /proc/1/cwd/hidden/answers.txt",
    "unmount": "umount hidden; cat hidden/answers.txt",
    "new namespace": "unshare -Urm sh -c 'umount hidden; cat hidden/answers.txt'",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_hidden_cannot_be_read(attack: str, kind: Kind, plan: Plan, tmp_path: Path) -> None:
    ended = run(kind, plan, tmp_path, *SHELL, ATTACKS[attack])
    assert "SECRET" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "attack",
    [
        "echo no > closed/record.jsonl",
        "echo no >> closed/record.jsonl",
        "rm closed/record.jsonl",
        "mv closed elsewhere/",
        "ln -s ../closed/record.jsonl open/link; echo no > open/link",
        "mount -o remount,rw,bind /; echo no > closed/record.jsonl",
        "unshare -Urm sh -c 'mount -o remount,rw,bind /; echo no > closed/record.jsonl'",
        "touch new",
    ],
)
def test_what_is_closed_cannot_be_written(
    attack: str, kind: Kind, plan: Plan, tmp_path: Path
) -> None:
    run(kind, plan, tmp_path, *SHELL, attack)
    assert (tmp_path / "closed" / "record.jsonl").read_text() == "kept\n"
    assert not (tmp_path / "new").exists()


def test_it_writes_where_it_may_and_its_status_comes_back(
    kind: Kind, plan: Plan, tmp_path: Path
) -> None:
    ended = run(kind, plan, tmp_path, *SHELL, "echo yes > open/file; echo said; exit 7")
    assert (ended.returncode, ended.stdout) == (7, "said\n")
    assert (tmp_path / "open" / "file").read_text() == "yes\n"


def test_a_folder_may_stand_in_for_another(kind: Kind, plan: Plan, tmp_path: Path) -> None:
    moved = Plan(writable=((tmp_path / "open", tmp_path / "elsewhere"),), hidden=plan.hidden)
    run(kind, moved, tmp_path, *SHELL, "echo yes > elsewhere/file")
    assert (tmp_path / "open" / "file").read_text() == "yes\n"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_nobody_outlives_it(kind: Kind, plan: Plan, tmp_path: Path) -> None:
    forks = "(setsid sleep 300 &) ; setsid sleep 300 & exit 0"
    before = _sleeping()
    run(kind, plan, tmp_path, *SHELL, forks)
    until = time.monotonic() + 10
    while _sleeping() - before and time.monotonic() < until:
        time.sleep(0.05)
    assert _sleeping() - before == set()


def test_there_is_no_network_where_none_is_given(kind: Kind, plan: Plan, tmp_path: Path) -> None:
    code = "import socket; socket.create_connection(('127.0.0.1', 1), 2)"
    ended = run(kind, plan, tmp_path, sys.executable, "-c", code)
    assert "unreachable" in ended.stderr or "refused" in ended.stderr
    listed = run(kind, plan, tmp_path, "cat", "/proc/net/dev").stdout
    assert [line.split(":")[0].strip() for line in listed.splitlines()[2:]] in ([], ["lo"])


def test_what_does_not_hold_is_not_chosen(plan: Plan, tmp_path: Path) -> None:
    open_after_all = Plan(writable=plan.writable, closed=(tmp_path / "open",))
    kinds = (Kind.NAMESPACES, Kind.NONE)
    found, reasons = enclosure.best(open_after_all, cwd=tmp_path, kinds=kinds)
    assert found is Kind.NONE and len(reasons) == 1
    assert enclosure.wrap(Kind.NONE, plan, ["true"]) == ["true"]


def _sleeping() -> set[int]:
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", b"300"] and int(entry.name) != os.getpid():
                found.add(int(entry.name))
    return found
