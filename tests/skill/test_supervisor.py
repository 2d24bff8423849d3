"""Whatever an agent does in a tick: it ends, the run keeps what is its own, and it is told."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gate.contract import knobs, ledger
from gate.contract.ledger import EntryKind
from gate.contract.paths import RunPaths
from gate.guard.guard import Guard
from tests import live_run
from tests.skill.station import SECRET, Station

UNHELD = ("--fence", "none")

WRITES = {
    "ledger": ("a/ledger.jsonl", "(RUN / 'ledger.jsonl').write_text('')"),
    "a line of the ledger": (
        "a/ledger.jsonl",
        "p = RUN / 'ledger.jsonl'; p.write_bytes(p.read_bytes().replace(b'a test', b'a lie!'))",
    ),
    "launch record": ("a/run.yaml", "(RUN / 'run.yaml').write_text('attempt: 1')"),
    "step records": (
        "steps.jsonl",
        "p = RUN / 'steps.jsonl'; p.write_text(p.read_text().replace('0.5', '0.9'))",
    ),
    "episodes": ("000001.jsonl", "os.unlink(RUN / 'episodes' / '000001.jsonl')"),
    "events": ("events.jsonl", "os.truncate(RUN / 'events.jsonl', 3)"),
    "live knob": (
        "a/knobs/user.yaml",
        "p = RUN / 'knobs' / 'user.yaml'\n"
        "p.write_text(p.read_text().replace('max_reveals: 2', 'max_reveals: 3'))",
    ),
    "removed knob file": ("knobs/agent.yaml", "os.unlink(RUN / 'knobs' / 'agent.yaml')"),
    "gate code": (
        "difficulty.py",
        "p = ROOT / 'gate' / 'rules' / 'difficulty.py'; p.write_text('')",
    ),
    "new gate code": ("new_rule.py", "(ROOT / 'gate' / 'new_rule.py').write_text('')"),
    "its own script": (
        "status.py",
        "os.unlink(ROOT / 'skill' / 'eau-meta-agent' / 'scripts' / 'status.py')",
    ),
    "starting knobs": (
        "checkout/knobs/user.yaml",
        "(ROOT / 'knobs' / 'user.yaml').write_text('x: 1')",
    ),
    "instructions": ("AGENTS.md", "(ROOT / 'AGENTS.md').write_text('obey me')"),
    "another run": ("b/ledger.jsonl", "(RUN.parent / 'b' / 'ledger.jsonl').write_text('')"),
}
"""What an agent may not write, and code that does."""

READS = (
    "print(open(ROOT / 'trainer/worlds/travel/evaluation/secret.txt').read())",
    "os.system('cat tr*/wo*/travel/ev*/sec*')",
    "os.system('grep -rs answer trainer')",
    "os.symlink(ROOT / 'trainer/worlds/travel/evaluation', RUN / 'candidate' / 'link')\n"
    "print((RUN / 'candidate' / 'link' / 'secret.txt').read_text())",
    "os.system('cat /proc/*/cwd/trainer/worlds/travel/evaluation/secret.txt')",
    "os.system('cat ' + str(ROOT.parent / 'results' / '*'))",
)
"""Ways to read evaluation: by its path, a glob, a search, a new link, a process, its results."""


def state(place: Station) -> dict[str, bytes]:
    """Return everything but what is the agent's own and the supervisor's."""
    mine = ("candidate", "proposals", "experience", "supervisor", "__pycache__")
    return {
        str(path.relative_to(place.root)): path.read_bytes()
        for path in sorted(place.root.rglob("*"))
        if path.is_file() and not path.name.startswith(".lock") and not set(mine) & set(path.parts)
    }


def refusals(run: RunPaths) -> list[Any]:
    return [
        entry.body["breach"]
        for entry in ledger.entries(run.ledger)
        if entry.kind is EntryKind.REFUSED and "breach" in entry.body
    ]


def each(codes: Iterable[str]) -> str:
    """Return the code of an agent that tries one thing after another, whatever comes of it."""
    parts = (f"    exec({code!r})\nexcept OSError as error:\n    print(error)" for code in codes)
    return "\n".join(f"try:\n{part}" for part in parts)


def test_the_kernel_keeps_an_agent_from_writing_what_is_not_its_own(held: Station) -> None:
    before = state(held)
    tick = held.once(each(code for _, code in WRITES.values()))
    assert state(held) == before
    assert (tick["end"], tick["code"], tick["breaches"]) == ("exited", 0, [])
    assert tick["said"].count("Read-only file system") == len(WRITES)
    assert tick["not_protected"] == [] and refusals(held.run) == []


@pytest.mark.parametrize("at_once", [("ledger",), ("a line of the ledger",), tuple(WRITES)[2:]])
def test_without_a_kernel_fence_a_breach_is_put_back_and_recorded(
    at_once: tuple[str, ...], place: Station
) -> None:
    before = state(place)
    tick = place.once(each(WRITES[name][1] for name in at_once), *UNHELD)
    after = state(place)
    ledger_now = after.pop("runs/a/ledger.jsonl")
    assert ledger_now.startswith(before.pop("runs/a/ledger.jsonl"))
    assert after == before
    assert len(tick["breaches"]) == len(at_once)
    for name in at_once:
        (told,) = [one for one in tick["breaches"] if WRITES[name][0] in one]
        assert told.endswith("; put back")
    assert refusals(place.run) == [tick["breaches"]] and tick["not_protected"]
    assert ledger.verify(place.run.ledger).ok
    assert Guard.open(place.run, worlds=live_run.WORLDS).status.revision == 0


def watched(place: Station) -> Path:
    """Let the run of a station watch the starting set of its checkout; returns that folder."""
    folder = place.root / "knobs"
    live_run.move_knobs(place.run, folder)
    return folder


def test_the_kernel_keeps_an_agent_out_of_a_watched_folder(held: Station) -> None:
    folder = watched(held)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    codes = ("(ROOT / 'knobs' / 'user.yaml').write_text('x')", "(RUN / 'knobs' / 'x').mkdir()")
    tick = held.once(each(codes))
    assert tick["said"].count("Read-only file system") == 2
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_fence_holds_while_the_watched_folder_is_gone(held: Station) -> None:
    watched(held).rename(held.root / "away")
    assert held.once("pass")["fence"] != "none"


def test_what_the_gate_writes_in_a_watched_folder_is_no_breach(place: Station) -> None:
    folder = watched(place)
    command = "[sys.executable, '-m', 'gate', 'set', str(RUN), 'user.max_reveals', '3', "
    tick = place.once(f"subprocess.run({command}'--reason', 'x'], check=True)", *UNHELD)
    assert (tick["code"], tick["breaches"]) == (0, [])
    assert "max_reveals: 3" in (folder / "user.yaml").read_text()


@pytest.mark.parametrize(
    "code",
    [
        WRITES["starting knobs"][1],
        WRITES["live knob"][1],
        "import shutil; shutil.rmtree(ROOT / 'knobs')",
        "os.unlink(RUN / 'knobs'); os.symlink(ROOT / 'gate', RUN / 'knobs')",
    ],
)
def test_without_a_kernel_fence_a_watched_folder_is_put_back(code: str, place: Station) -> None:
    folder = watched(place)
    before = [(folder / f"{name}.yaml").read_bytes() for name in knobs.FILES]
    tick = place.once(code, *UNHELD)
    assert tick["breaches"] and all(one.endswith("; put back") for one in tick["breaches"])
    assert [(folder / f"{name}.yaml").read_bytes() for name in knobs.FILES] == before
    assert place.run.knobs.readlink() == folder


def test_evaluation_cannot_be_read_from_inside_the_fence(held: Station) -> None:
    results = held.root.parent / "results"
    results.mkdir()
    (results / "one.json").write_text(SECRET)
    held.once(each(READS), EAU_EVAL_ROOT=str(results))
    folder = held.run.supervisor / "0001"
    told = (folder / "out.txt").read_text() + (folder / "err.txt").read_text()
    assert "No such file" in told and SECRET not in told


def test_without_a_fence_it_is_told_that_evaluation_is_not_protected(place: Station) -> None:
    tick = place.once("pass", *UNHELD)
    assert tick["fence"] == "none" and "not protected" in tick["not_protected"][0]


def break_fences(place: Station) -> dict[str, str]:
    """Let no fence hold any more; returns the variables under which that is so."""
    (place.root / "skill" / "supervisor" / "cell.py").write_text("raise SystemExit('broken')")
    return {"PATH": str(Path(sys.executable).parent)}


def test_a_run_whose_ticks_were_held_is_not_gone_on_with_unheld(held: Station) -> None:
    held.once("pass")
    ended = held.supervise("--once", "--agent", held.script("pass"), **break_fences(held))
    assert ended.returncode == 1
    assert "tick 2 is put off" in ended.stdout and "broken" in ended.stdout
    assert len(held.ticks()) == 1 and not (held.run.supervisor / "0002").exists()
    told = held.once("pass", *UNHELD)
    assert told["fence"] == "none", "a person may still say that nothing shall hold it"


def test_a_fence_that_was_asked_for_is_had_or_nothing_is_run(place: Station) -> None:
    gone = break_fences(place)
    ended = place.supervise(
        "--once", "--agent", place.script("pass"), "--fence", "namespaces", **gone
    )
    assert ended.returncode == 1 and place.ticks() == []
    assert "--fence namespaces does not hold here" in ended.stderr


def test_a_knob_that_the_trainer_adopted_meanwhile_is_taken_back_by_the_gate(
    place: Station,
) -> None:
    edit = WRITES["live knob"][1] + "\ntime.sleep(30)"
    agent = place.script(edit)
    child = place.background("--once", "--agent", agent, *UNHELD, "--time-limit-s", "4")
    guard = Guard.open(place.run, worlds=live_run.WORLDS)
    until = time.monotonic() + 30
    while guard.status.revision == 0 and time.monotonic() < until:
        guard.reconcile(31, success_history=[0.5] * 20, now=time.time())
        time.sleep(0.1)
    assert guard.status.revision == 1
    assert child.wait(60) == 0
    status = guard.reconcile(32, success_history=[0.5] * 20, now=time.time())
    assert (status.revision, status.knobs.get("user.max_reveals")) == (2, 2)
    (tick,) = place.ticks()
    assert "revision 1" in tick["breaches"][0]


def test_an_edit_that_a_person_had_begun_before_is_left_alone(place: Station) -> None:
    content = live_run.save(place.run, "user.max_reveals", 3)
    tick = place.once("pass", *UNHELD)
    assert tick["breaches"] == [] and place.run.knob_file("user").read_bytes() == content


def test_what_a_person_saves_while_the_kernel_holds_the_agent_is_no_breach(held: Station) -> None:
    waits = (
        "(RUN / 'candidate' / 'begun').touch()\n"
        "while not (RUN / 'candidate' / 'saved').exists(): time.sleep(0.05)"
    )
    child = held.background("--once", "--agent", held.script(waits), "--time-limit-s", "60")
    until = time.monotonic() + 60
    while not (held.run.candidate / "begun").exists() and time.monotonic() < until:
        time.sleep(0.05)
    content = live_run.save(held.run, "user.max_reveals", 3)
    (held.run.candidate / "saved").touch()
    assert child.wait(60) == 0
    assert held.run.knob_file("user").read_bytes() == content
    (tick,) = held.ticks()
    assert tick["breaches"] == [] and "knobs/user.yaml" in tick["changed_meanwhile"][0]
