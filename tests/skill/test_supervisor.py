"""Whatever an agent does in a tick: it ends, the run keeps what is its own, and it is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files, ledger, proposals
from gate.contract.ledger import EntryKind
from gate.contract.paths import RunPaths
from gate.guard.guard import Guard
from skill.supervisor import agents, enclosure
from skill.supervisor import tick as ticking
from skill.supervisor.enclosure import Kind, Plan
from tests import live_run, proposed
from tests.skill import station
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


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    station.build(folder)
    return folder


@pytest.fixture
def place(template: Path, tmp_path: Path) -> Station:
    shutil.copytree(template, tmp_path / "s", symlinks=True)
    root = tmp_path / "s" / "checkout"
    made = Station(root, RunPaths(root / "runs" / "a"))
    live_run.launch(root / "runs" / "b")
    proposed.record_launch(RunPaths(root / "runs" / "b"))
    status = json.loads(made.run.status.read_bytes())
    made.run.status.write_text(json.dumps({**status, "pid": os.getpid(), "heartbeat": time.time()}))
    return made


@pytest.fixture
def held(place: Station) -> Station:
    kind, reasons = enclosure.best(Plan(closed=(place.root,)), cwd=place.root)
    if kind is Kind.NONE:
        pytest.skip(f"no kernel fence on this machine: {'; '.join(reasons)}")
    return place


def state(place: Station) -> dict[str, bytes]:
    """Return everything but what is the agent's own and the supervisor's."""
    mine = ("candidate", "proposals", "experience", "supervisor", "__pycache__")
    return {
        str(path.relative_to(place.root)): path.read_bytes()
        for path in sorted(place.root.rglob("*"))
        if path.is_file() and not path.name.startswith(".lock") and not set(mine) & set(path.parts)
    }


def background(place: Station, *flags: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "skill", "supervise", str(place.run.root), *flags],
        cwd=place.root,
        env={**os.environ, "PYTHONPATH": str(place.root)},
        stdout=subprocess.DEVNULL,
    )


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


def test_a_knob_that_the_trainer_adopted_meanwhile_is_taken_back_by_the_gate(
    place: Station,
) -> None:
    edit = WRITES["live knob"][1] + "\ntime.sleep(30)"
    agent = place.script(edit)
    child = background(place, "--once", "--agent", agent, *UNHELD, "--time-limit-s", "4")
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
    child = background(held, "--once", "--agent", held.script("time.sleep(3)"))
    time.sleep(2.0)
    content = live_run.save(held.run, "user.max_reveals", 3)
    assert child.wait(60) == 0
    assert held.run.knob_file("user").read_bytes() == content
    (tick,) = held.ticks()
    assert tick["breaches"] == [] and "knobs/user.yaml" in tick["changed_meanwhile"][0]


PROPOSE = (
    "subprocess.run([sys.executable, '-m', 'skill', 'propose', str(RUN), '--why', 'seen',"
    " '--step', '3', '--set', 'agent.entropy_coeff=0.002', '--author', 'script', '--json'])"
)


@pytest.mark.parametrize("flags", [(), UNHELD])
@pytest.mark.parametrize(
    ("autonomy", "names"),
    [("act", ["0001.yaml"]), ("propose", ["0001.draft.yaml"]), ("watch", [])],
)
def test_autonomy_decides_what_becomes_of_a_proposal(
    autonomy: str, names: list[str], flags: tuple[str, ...], place: Station
) -> None:
    tick = place.once(PROPOSE, "--autonomy", autonomy, *flags)
    assert proposals.names(place.run) == names, tick
    assert tick["proposals"] == ([1] if names else [])


@pytest.mark.parametrize("flags", [(), UNHELD])
def test_a_proposal_written_past_the_script_is_no_way_around_a_person(
    flags: tuple[str, ...], place: Station
) -> None:
    content = proposed.content(evidence={"steps": [3]})
    write = f"(RUN / 'proposals' / '0001.yaml').write_bytes({content!r})\ntime.sleep(1)"
    place.once(write, "--autonomy", "propose", *flags)
    assert proposals.names(place.run) == ["0001.draft.yaml"]
    assert place.run.draft(1).read_bytes() == content


def test_a_tick_with_a_breach_submits_nothing(place: Station) -> None:
    tick = place.once(f"{PROPOSE}\n{WRITES['gate code'][1]}", *UNHELD)
    assert tick["breaches"] and proposals.names(place.run) == ["0001.draft.yaml"]


@pytest.mark.parametrize("flags", [(), UNHELD])
def test_what_was_written_once_stays(flags: tuple[str, ...], place: Station) -> None:
    proposed.submit(place.run)
    lesson = next((place.root / "experience" / "lessons").glob("0001-*.md"))
    content = lesson.read_bytes()
    tick = place.once(
        f"(RUN / 'proposals' / '0001.yaml').write_text('')\n"
        f"(ROOT / 'experience' / 'lessons' / {lesson.name!r}).unlink()\n"
        "(RUN / 'candidate' / 'out').symlink_to('/etc')",
        *flags,
    )
    assert proposed.content() in (
        place.run.proposal(1).read_bytes() if place.run.proposal(1).exists() else b"",
        place.run.draft(1).read_bytes() if place.run.draft(1).exists() else b"",
    )
    assert lesson.read_bytes() == content
    assert not os.path.lexists(place.run.candidate / "out")
    assert len(tick["breaches"]) == 3


ODD: dict[str, tuple[str, str]] = {
    "crashes": ("os.kill(os.getpid(), 11)", "killed"),
    "exits with an error": ("sys.exit(9)", "exited"),
    "hangs": ("import signal; signal.signal(15, signal.SIG_IGN); time.sleep(600)", "time_out"),
    "prints for ever": ("while True: sys.stdout.write('x\\x1b[2J\\x00' * 10000)", "time_out"),
    "prints what is no text": ("os.write(1, bytes(range(256)) * 100)", "exited"),
    "forks and leaves": (
        "for _ in range(5):\n    if os.fork() == 0:\n        os.setsid(); time.sleep(600)",
        "exited",
    ),
    "leaves a pipe open": ("subprocess.Popen(['sleep', '600'], start_new_session=True)", "exited"),
}


@pytest.mark.parametrize(
    ("what", "flags"),
    [*((what, ()) for what in ODD), *((what, UNHELD) for what in tuple(ODD)[4:])],
)
def test_a_client_that_misbehaves_costs_its_tick_alone(
    what: str, flags: tuple[str, ...], place: Station
) -> None:
    body, end = ODD[what]
    began = time.monotonic()
    tick = place.once(body, "--time-limit-s", "1.5", *flags)
    assert time.monotonic() - began < 40
    told = "exited" if end == "killed" and tick["fence"] != "none" else end
    assert tick["end"] == told
    assert (place.run.supervisor / "0001" / "out.txt").stat().st_size < 4 << 20
    assert _of(place) == []


def test_a_killed_supervisor_takes_its_agent_along(held: Station) -> None:
    forks = (
        "if os.fork() == 0:\n    os.setsid()\n(RUN / 'candidate' / 'up').touch(); time.sleep(600)"
    )
    child = background(held, "--once", "--agent", held.script(forks))
    until = time.monotonic() + 30
    while not (held.run.candidate / "up").exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert _of(held) != []
    child.kill()
    child.wait()
    while _of(held) and time.monotonic() < until:
        time.sleep(0.1)
    assert _of(held) == []
    homes = f"{ticking.SCRATCH}{child.pid}-*"
    assert list(Path(tempfile.gettempdir()).glob(homes)), "killed before it could clear"
    held.once("pass")
    assert not list(Path(tempfile.gettempdir()).glob(homes))


def test_a_program_that_is_not_there_is_said_at_once(place: Station) -> None:
    ended = place.supervise("--once", "--agent", "no-such-program {run}")
    assert ended.returncode == 1 and "no such program" in ended.stderr


def test_ticks_come_at_their_interval_and_go_on_where_they_were(place: Station) -> None:
    agent = place.script("print('{\"cost_usd\": 0.4}')")
    ended = place.supervise("--agent", agent, "--ticks", "1", "--every", "10", "--poll-s", "0.1")
    assert ended.returncode == 0 and [one["step"] for one in place.ticks()] == [30]
    recorded_status = json.loads(place.run.status.read_bytes())
    for step in (35, 41):
        files.append_line(place.run.steps, {"step": step, "success": 0.5})
    place.run.status.write_text(json.dumps({**recorded_status, "step": 41, "phase": "finished"}))
    ended = place.supervise("--agent", agent, "--every", "10", "--poll-s", "0.1")
    assert [(one["step"], one["reason"]) for one in place.ticks()] == [
        (30, "interval"),
        (41, "ended"),
    ]
    ended = place.supervise("--agent", agent, "--poll-s", "0.1")
    assert ended.returncode == 0 and len(place.ticks()) == 2


def test_the_cost_of_all_ticks_together_is_limited(place: Station) -> None:
    agent = place.script('print(\'{"type": "result", "total_cost_usd": 0.7, "result": "x"}\')')
    flags = ("--agent", agent, "--every", "1", "--poll-s", "0.1", "--max-cost", "0.5")
    ended = place.supervise(*flags)
    assert ended.returncode == 0 and "limit is reached" in ended.stdout
    assert [(one["cost_usd"], one["said"]) for one in place.ticks()] == [(0.7, "x")]


def test_a_second_supervisor_of_one_run_is_refused(place: Station) -> None:
    body = (
        "print(subprocess.run([sys.executable, '-m', 'skill', 'supervise', str(RUN), '--once',"
        " '--agent', 'true'], capture_output=True, text=True).stderr)"
    )
    place.once(body, *UNHELD)
    assert "another supervisor watches" in (place.run.supervisor / "0001/out.txt").read_text()


def test_a_trainer_that_is_gone_is_looked_at_once(place: Station) -> None:
    status = json.loads(place.run.status.read_bytes())
    place.run.status.write_text(json.dumps({**status, "pid": 2**22 - 1, "step": 3}))
    ended = place.supervise("--agent", "true", "--poll-s", "0.1")
    assert ended.returncode == 1 and "trainer is gone" in ended.stdout
    assert [one["reason"] for one in place.ticks()] == ["stalled"]


def test_secrets_are_passed_on_and_never_recorded(place: Station) -> None:
    env = {"ANTHROPIC_API_KEY": "sk-abc-123456", "MY_OTHER": "hidden-value"}
    place.once("print(os.environ.get('ANTHROPIC_API_KEY'), os.environ.get('MY_OTHER'))", **env)
    told = (place.run.supervisor / "0001" / "out.txt").read_text()
    assert told.strip() == "[ANTHROPIC_API_KEY] None"


def test_the_operator_is_an_agent_like_any_other(place: Station) -> None:
    ended = place.supervise("--once", "--agent", "operator", "--json")
    assert ended.returncode == 0, ended.stderr
    (tick,) = place.ticks()
    assert (tick["end"], tick["code"], tick["breaches"]) == ("exited", 0, []), tick
    assert "no symptom" in tick["said"]


def test_last_words_are_a_result_where_there_is_one() -> None:
    assert agents.last_words('{"type":"x"}\n{"result":"done"}\ngarbage') == "done"
    assert agents.last_words('{"item":{"text":"said"}}\n{"usage":{}}') == "said"
    assert agents.last_words("plain\n") == "plain"
    assert (
        agents.cost_usd('{"total_cost_usd":0.1}\n{"total_cost_usd":0.3}\n{"cost_usd":true') == 0.3
    )


def _of(place: Station) -> list[str]:
    """Return the command lines of living processes that carry this run in their environment."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environ = (entry / "environ").read_bytes()
                if f"EAU_RUN={place.run.root}".encode() in environ:
                    found.append((entry / "cmdline").read_bytes().decode())
            except OSError:
                continue
    return found
