"""What a terminal shows of a run fits it, tells what matters, and acts on nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from gate.contract import files, ledger
from gate.contract.ledger import EntryKind
from gate.contract.paths import RunPaths
from tests.trainer.looking import mended_run
from tests.trainer.looking.mended_run import NOW
from trainer.looking.panel import panel
from trainer.looking.pulse import pulse
from trainer.looking.reading import Reader, Reading


def lines(
    reading: Reading, *, now: float = NOW + 3, width: int = 100, height: int = 40
) -> list[str]:
    return [line.plain.rstrip() for line in panel(reading, now, width=width, height=height)]


def starting(told: list[str], label: str) -> str:
    (found,) = (line for line in told if line.startswith(label))
    return found


def test_it_tells_step_success_and_what_is_in_force(reading: Reading) -> None:
    told = lines(reading)
    assert told[0] == "mended  training, rollout, heartbeat 3 s ago"
    assert "40 of 50" in told[1] and told[1].endswith("4.0 s a step, 40 s left")
    assert "0.76 in the last 5 steps" in starting(told, "success")
    assert starting(told, "length").endswith("6.0 agent turns (4.0 to 6.0)")
    assert "symbolic 0.76 (0.67-0.83)  noisy 0.66 (0.52-0.78)" in starting(told, "by user")
    assert starting(told, "in force") == "in force  revision 2, world 0000"
    assert "gap to the learner 1.0e-07" in starting(told, "sampler")
    assert any(line.startswith("step 24   quarantined  2 episodes: env_error") for line in told)


def test_the_same_in_several_steps_is_told_once(own: RunPaths) -> None:
    detail = {"fields": ["reward"], "winner": "replay"}
    for number in (31, 32, 33):
        event = {"kind": "resume_difference", "step": number, "detail": detail}
        files.append_line(own.events, event)
    for number in (35, 40):
        name = {"directory": f"step-{number:06d}"}
        files.append_line(own.events, {"kind": "checkpoint", "step": number, "detail": name})
    told = [line for line in lines(Reader(own).read()) if line.startswith("step 3")]
    assert told == ['step 33   resume difference  fields ["reward"], winner replay, since step 31']


def test_knobs_that_differ_say_since_when_and_by_whom(own: RunPaths) -> None:
    mended_run.tell(own, revision=1)
    assert "          environment.max_steps 16 -> 12, since step 16: a planted fault" in lines(
        Reader(own).read()
    )


def test_an_open_test_shows_its_evidence_towards_the_limit(own: RunPaths) -> None:
    kept = own.ledger.read_bytes().splitlines(keepends=True)[:-1]
    own.ledger.write_bytes(b"".join(kept))
    records = [mended_run.step(number) for number in range(1, mended_run.JUDGED - 1)]
    own.steps.write_text("".join(json.dumps(one) + "\n" for one in records))
    told = lines(Reader(own).read())
    assert starting(told, "test") == (
        "test      1 of revision 2: concurrent arms, step 26 of 23 to 32"
    )
    assert any(line.startswith("          so far +0.500 (") for line in told)
    (bars,) = (line for line in told if "help ━" in line)
    assert "harm ━" in bars and "of 20" in bars
    assert "new symbolic 0.75" in starting(told, "by user")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 50), (40, 10), (20, 3), (1, 1)])
def test_no_line_is_wider_and_no_panel_higher_than_the_terminal(
    own: RunPaths, width: int, height: int
) -> None:
    files.append_line(
        own.events, {"kind": "breach", "step": 40, "detail": {"said": "長い" * 200 + "\n\nx"}}
    )
    told = panel(Reader(own).read(), NOW, width=width, height=height)
    assert 0 < len(told) <= height
    assert all(cell_len(line.plain) <= width and "\n" not in line.plain for line in told)


def test_the_newest_events_are_kept_where_there_is_no_room_for_all(reading: Reading) -> None:
    told = lines(reading, height=12)
    assert told[-1].startswith("step 30   checkpoint")
    assert told[0].startswith("mended")


def test_a_refused_edit_is_told_with_its_place(own: RunPaths) -> None:
    finding = {
        "file": "knobs/user.yaml",
        "line": 3,
        "message": "It is wrong.",
        "next_step": "Mend.",
    }
    mended_run.tell(own, refused=[finding], health={"quarantined_share": 0.25, "updated": False})
    told = lines(Reader(own).read())
    assert starting(told, "refused") == "refused   knobs/user.yaml:3 It is wrong. Mend."
    assert starting(told, "trouble") == "trouble   25% quarantined, the last step had no update"


def test_what_an_endpoint_costs_is_told(own: RunPaths) -> None:
    spent = {"requests": 1200, "failures": 2, "prompt_tokens": 90000, "completion_tokens": 500}
    mended_run.tell(own, endpoint={**spent, "usd": 0.25})
    told = starting(lines(Reader(own).read()), "endpoint")
    assert told == "endpoint  90,500 tokens in 1,200 requests, 2 failed, $0.2500"


def test_a_run_that_dies_says_since_when_nothing_was_heard_of_it(reading: Reading) -> None:
    assert not pulse(reading, NOW + 50, alive=lambda _: True).stale
    late = pulse(reading, NOW + 300, alive=lambda _: True)
    assert (
        late.stale and late.text.startswith("no heartbeat since ") and "(5 min 00 s)" in late.text
    )
    gone = pulse(reading, NOW + 15, alive=lambda _: False)
    assert gone.stale and gone.text.endswith("; no process 1 on this machine")
    assert not pulse(reading, NOW + 5, alive=lambda _: False).stale


def test_patience_grows_with_the_length_of_a_step(own: RunPaths) -> None:
    for number in range(41, 52):
        files.append_line(own.steps, mended_run.step(number, step_s=300.0))
    slow = Reader(own).read()
    assert not pulse(slow, NOW + 1400, alive=lambda _: True).stale
    assert not pulse(slow, NOW + 290, alive=lambda _: False).stale
    assert pulse(slow, NOW + 310, alive=lambda _: False).stale
    assert pulse(slow, NOW + 1600, alive=lambda _: True).stale


def test_a_run_that_ended_is_owed_no_heartbeat(own: RunPaths) -> None:
    mended_run.tell(own, phase="failed", reason="the disk is full")
    told = lines(Reader(own).read(), now=NOW + 99_999)
    assert told[0].startswith("mended  failed at ") and told[0].endswith(": the disk is full")
    assert "left" not in told[1]


def test_a_run_without_a_step_a_status_or_a_ledger_is_shown_as_far_as_it_goes(
    tmp_path: Path,
) -> None:
    run = RunPaths(tmp_path)
    assert lines(Reader(run).read())[1] == "step      none yet"
    mended_run.tell(run, step=0, total_steps=50, phase="warm_start", stage="demonstrations")
    told = lines(Reader(run).read())
    assert told[0].endswith("warm_start, demonstrations, heartbeat 3 s ago")
    assert told[1] == "step      none yet, of 50"


def test_damage_is_told_and_hides_nothing_else(own: RunPaths) -> None:
    with own.steps.open("ab") as stream:
        stream.write(b'{"step": 41, "succ\n["no record"]\n{"step": "x"}\n')
    own.status.write_bytes(b'{"phase": "trai')
    ledger.append(own.ledger, EntryKind.OUTCOME, mended_run.OUTCOME, step=1, now=1.0)
    own.ledger.write_bytes(own.ledger.read_bytes().replace(b"too few turns", b"too few tunes"))
    told = lines(Reader(own).read(), width=300)
    assert any("steps.jsonl: 2 lines hold no record; left out" in line for line in told)
    assert any("ledger.jsonl cannot be trusted" in line for line in told)
    assert any("status.json holds no record" in line for line in told)
    assert told[1].startswith("step      40  ")
    assert "0.76 in the last 5 steps" in starting(told, "success")


def test_text_of_others_acts_on_nobody(own: RunPaths) -> None:
    hostile = "[red]x[/red]\x1b]0;t\x07\u202e"
    mended_run.tell(own, reason=hostile, stage=hostile)
    files.append_line(own.events, {"kind": hostile, "step": 40, "detail": {"k": hostile}})
    told = "\n".join(lines(Reader(own).read(), width=300))
    assert "\x1b" not in told and "\u202e" not in told and "[red]x[/red]" in told
