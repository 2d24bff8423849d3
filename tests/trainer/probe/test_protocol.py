"""The probe answers a program: one line of JSON, exit 0 whatever it found, 2 on misuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gate.contract.findings import Finding
from tests import candidates
from trainer.probe import request as requests
from trainer.probe.checks import CHECKS
from trainer.probe.run import probe
from trainer.worlds import processes


def test_an_unchanged_world_passes_with_a_number_for_every_check(
    tmp_path: Path, checkout: Path
) -> None:
    body = candidates.body(tmp_path, "travel")
    ran = candidates.command(tmp_path / "request.json", body, checkout)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("\n") == 1
    report = json.loads(ran.stdout)
    assert report["findings"] == []
    assert report["tasks"] == 4
    assert 0 < report["seconds"] <= 10
    assert report["measured"]["solvable"] == {"travel": 0.0}
    assert report["measured"]["floor"] == {"travel": 0.0}
    assert report["measured"].keys() <= CHECKS.keys()


def test_what_was_found_does_not_change_the_exit_code(tmp_path: Path, checkout: Path) -> None:
    body = candidates.body(tmp_path, "travel", new={"environment.max_steps": 3})
    ran = candidates.command(tmp_path / "request.json", body, checkout)
    assert ran.returncode == 0
    found = [Finding.from_json(one) for one in json.loads(ran.stdout)["findings"]]
    assert "probe.solvable" in {one.rule for one in found}
    assert all(one.message and one.next_step for one in found)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"new": None}, "new must hold world_root"),
        ({"surprise": 1}, "unknown field 'surprise'"),
        ({"tasks": 0}, "tasks is 0; write a number of at least 1"),
        ({"tasks": True}, "tasks is True"),
        ({"seconds": "ten"}, "seconds is 'ten'"),
        ({"worlds": "travel"}, "worlds is 'travel'"),
        ({"false_verdicts": [{"episode": "000001-00"}]}, "should_be"),
    ],
)
def test_misuse_is_told_with_the_field(
    tmp_path: Path, checkout: Path, change: dict[str, object], told: str
) -> None:
    body = {**candidates.body(tmp_path, "intention"), **change}
    with pytest.raises(requests.RequestError, match=told):
        requests.from_values(body)


def test_misuse_ends_with_2(tmp_path: Path, checkout: Path) -> None:
    ran = candidates.command(tmp_path / "request.json", {"run": None}, checkout)
    assert ran.returncode == 2
    assert "new is missing" in ran.stderr
    assert ran.stdout == ""


def test_more_time_and_tasks_than_there_are_cannot_be_asked_for(tmp_path: Path) -> None:
    asked = candidates.request(tmp_path, "intention", seconds=3600.0, tasks=10_000)
    assert (asked.seconds, asked.tasks) == (10.0, 32)


def test_the_probe_loads_no_tensor_library(checkout: Path) -> None:
    heavy = (
        "import sys, trainer.commands.probe; print({'torch', 'transformers'} & set(sys.modules))"
    )
    told = subprocess.run(
        [sys.executable, "-c", heavy], cwd=checkout, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "set()"


def test_no_process_is_left(tmp_path: Path, checkout: Path) -> None:
    before = set(processes.children_of(os.getpid()))
    body = candidates.body(tmp_path, "colbench", tasks=2)
    mark = tmp_path.as_posix().encode()
    candidates.command(tmp_path / "request.json", body, checkout)
    assert set(processes.children_of(os.getpid())) <= before
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert mark not in entry.read_bytes()
        except OSError:
            continue


def test_a_check_without_time_is_a_finding_and_no_pass(tmp_path: Path) -> None:
    report = probe(candidates.request(tmp_path, "travel", seconds=0.1))
    unreached = {one.value for one in candidates.errors(report, "unreached")}
    assert "same_reply" in unreached
    assert report.refuses


def test_a_slow_world_is_tried_on_fewer_tasks_and_the_report_says_so(tmp_path: Path) -> None:
    act = "    def act(self, action: Action) -> StepResult:"
    slow = {"env.py": {act: f"{act}\n        import time; time.sleep(0.05)"}}
    asked = candidates.request(tmp_path, "intention", edits=slow, tasks=32, seconds=4)
    report = candidates.probed(asked, "solvable")
    assert 1 <= report.tasks < 32
