"""A probe answers beside the training, knows no secret, and whatever goes wrong with it refuses."""

from __future__ import annotations

import inspect
import json
import time
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files
from gate.contract.findings import Severity
from gate.guard import probing
from gate.guard.probing import Prober, Question, Report
from tests import live_run
from tests.gate import fake_probe
from tests.gate.test_leash import alive, until

REQUEST = {"run": "/r", "new": {"world_root": "/r/world/0000", "knobs": {}}, "worlds": ["travel"]}


def question(**worlds: bytes) -> Question:
    return Question(7, REQUEST, {f"travel/{name}.py": data for name, data in worlds.items()})


def prober(
    tmp_path: Path, play: Any = fake_probe.PASSES, *, deadline_s: float = probing.DEADLINE_S
) -> Prober:
    command = fake_probe.command(tmp_path / "fake", play)
    return Prober(tmp_path / "probe", command=command, deadline_s=deadline_s)


def test_an_answer_comes_without_anybody_waiting(tmp_path: Path) -> None:
    ours = prober(tmp_path, "wait")
    began = time.monotonic()
    assert [ours.ask(question()) for _ in range(3)] == [None] * 3
    assert time.monotonic() - began < 5
    fake_probe.act(tmp_path / "fake", fake_probe.REFUSES)
    report = ours.wait(question())
    assert [one.rule for one in report.findings] == ["probe.solvable"]
    assert report.to_json() == {
        "measured": {"solvable": {"travel": 2}},
        "seconds": 0.5,
        "tasks": 32,
    }
    assert not (tmp_path / "probe").exists()


def test_one_that_waits_has_its_answer_at_once(tmp_path: Path) -> None:
    command = fake_probe.command(tmp_path / "fake", fake_probe.REFUSES)
    report = Prober(tmp_path / "probe", command=command, waits=True).ask(question())
    assert report is not None
    assert [one.rule for one in report.findings] == ["probe.solvable"]


def test_the_new_worlds_are_staged_whole_where_the_request_says(tmp_path: Path) -> None:
    ours = prober(tmp_path, "wait")
    ours.ask(question(env=b"x = 1\n", wording=b"\xff"))
    until(lambda: fake_probe.asked(tmp_path / "fake") != [])
    (asked,) = fake_probe.asked(tmp_path / "fake")
    root = Path(asked["new"]["world_root"])
    assert (root / "travel" / "env.py").read_bytes() == b"x = 1\n"
    assert (root / "travel" / "wording.py").read_bytes() == b"\xff"
    ours.close()
    ours.close()
    assert not root.exists()


def test_no_secret_reaches_a_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("EAU_EVAL_ROOT", "/secret")
    assert prober(tmp_path).wait(question()).findings == ()
    seen = json.loads((tmp_path / "fake" / "environment.json").read_text())
    assert not {"OPENAI_API_KEY", "EAU_EVAL_ROOT", "HOME"} & seen.keys()
    assert (seen["OMP_NUM_THREADS"], seen["HF_HUB_OFFLINE"]) == ("1", "1")


def test_another_question_ends_the_one_before(tmp_path: Path) -> None:
    ours = prober(tmp_path, "hang")
    ours.ask(question(env=b"1"))
    until(lambda: fake_probe.asked(tmp_path / "fake") != [])
    pid = int((tmp_path / "fake" / "pid").read_text() or 0)
    fake_probe.act(tmp_path / "fake", fake_probe.PASSES)
    assert ours.wait(question(env=b"2")).findings == ()
    assert not alive(pid)
    assert len(fake_probe.asked(tmp_path / "fake")) == 2


@pytest.mark.parametrize(
    ("play", "limits", "why"),
    [
        ("hang", {"deadline_s": 1.0}, "took longer than 1 s"),
        ("die", {}, "ended with status 1 (the floor is lava)"),
        ("shout", {}, "said more than 1048576 bytes"),
        ("chatter", {}, "did not answer with one line of JSON"),
        ({"findings": []}, {}, "did not answer"),
        ({**fake_probe.PASSES, "seconds": "soon"}, {}, "did not answer"),
        ({**fake_probe.PASSES, "measured": 3}, {}, "did not answer"),
        ([1], {}, "did not answer"),
        (
            {**fake_probe.REFUSES, "findings": [{"rule": "rules.pace"}]},
            {},
            "did not answer",
        ),
        (
            {
                **fake_probe.PASSES,
                "findings": [{**fake_probe.REFUSES["findings"][0], "rule": "rules.pace"}],
            },
            {},
            "did not answer",
        ),
    ],
)
def test_a_probe_that_gives_no_answer_refuses_with_the_reason(
    tmp_path: Path, play: Any, limits: dict[str, float], why: str
) -> None:
    (found,) = prober(tmp_path, play, **limits).wait(question()).findings
    assert (found.rule, found.severity) == ("probe.failed", Severity.ERROR)
    assert why in found.message
    assert "gate check RUN --proposal 7" in found.next_step


def test_a_probe_that_somebody_ends_from_outside_refuses(tmp_path: Path) -> None:
    ours = prober(tmp_path, "hang")
    ours.ask(question())
    until(lambda: fake_probe.asked(tmp_path / "fake") != [])
    assert ours._leash is not None
    ours._leash.kill()
    (found,) = ours.wait(question()).findings
    assert "was ended from outside" in found.message


def test_a_full_disk_is_told_as_one(tmp_path: Path) -> None:
    ours = prober(tmp_path)
    with live_run.file_size_limit(10), pytest.raises(files.DiskFull):
        ours.ask(question(env=b"x" * 100))
    ours.close()
    assert ours.wait(question()) == Report((), {}, 0.5, 32)


def test_a_question_is_known_by_all_that_is_asked() -> None:
    keys = {
        question().key,
        question(env=b"1").key,
        question(env=b"2").key,
        Question(7, {**REQUEST, "seed": 1}, {}).key,
    }
    assert len(keys) == 4
    assert question(env=b"1").key in keys


def test_the_command_is_the_checkouts_own() -> None:
    command = inspect.signature(probing.Prober).parameters["command"].default
    assert command[1:] == ("-m", "trainer", "probe")
