"""A tick ends whatever its agent does, comes when it is due, and goes as far as it may."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

import pytest

from gate.contract import files, proposals
from skill.supervisor import agents
from skill.supervisor import tick as ticking
from tests import proposed
from tests.skill.station import Station

UNHELD = ("--fence", "none")
SPOIL = "(ROOT / 'gate' / 'rules' / 'difficulty.py').write_text('')"

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
    tick = place.once(f"{PROPOSE}\n{SPOIL}", *UNHELD)
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
    assert place.living() == []


def test_a_killed_supervisor_takes_its_agent_along(held: Station) -> None:
    forks = (
        "if os.fork() == 0:\n    os.setsid()\n(RUN / 'candidate' / 'up').touch(); time.sleep(600)"
    )
    child = held.background("--once", "--agent", held.script(forks))
    until = time.monotonic() + 30
    while not (held.run.candidate / "up").exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert held.living() != []
    child.kill()
    child.wait()
    while held.living() and time.monotonic() < until:
        time.sleep(0.1)
    assert held.living() == []
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
