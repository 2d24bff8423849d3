"""The doctor sees what the machine lacks and what earlier runs left, and changes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainer import recipe_file
from trainer.doctor import machine, places
from trainer.doctor.finding import Check, Finding, Gpu, Level, Patient
from trainer.recipe import RunConfig

GIB = 2**30
H100 = Gpu("H100", 80 * GIB, 79 * GIB)


def config(**values: Any) -> RunConfig:
    return recipe_file.from_values({"name": "test", **values})


def levels(check: Check, patient: Patient) -> list[Level]:
    return [finding.level for finding in check(patient)]


def only(found: Iterator[Finding]) -> Finding:
    (finding,) = found
    return finding


def process(proc: Path, pid: int, parent: int, line: str) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "stat").write_text(f"{pid} (a (strange) name) S {parent} 1 1")
    (folder / "cmdline").write_bytes(line.replace(" ", "\0").encode())


def test_python_and_packages_of_this_environment_are_fit() -> None:
    assert levels(machine.python, Patient()) == [Level.OK]
    assert levels(machine.packages, Patient(config())) == [Level.OK]


@pytest.mark.parametrize(
    ("environment", "level"),
    [
        ({"OMP_NUM_THREADS": "1"}, Level.OK),
        ({"OMP_NUM_THREADS": "8", "OMP_WAIT_POLICY": "PASSIVE"}, Level.OK),
        ({"OMP_NUM_THREADS": "2"}, Level.DOUBT),
        ({}, Level.DOUBT),
    ],
)
def test_spinning_threads_are_doubtful(environment: dict[str, str], level: Level) -> None:
    assert levels(machine.threads, Patient(environment=environment)) == [level]


def test_memory_is_what_the_kernel_says_is_available(tmp_path: Path) -> None:
    assert only(machine.memory(Patient(proc=tmp_path))).level is Level.UNKNOWN
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    3145728 kB\n")
    assert only(machine.memory(Patient(proc=tmp_path))).told.startswith("3.0 GiB available")


def test_gpus_that_are_counted_on_must_be_seen() -> None:
    four = config(hardware={"gpus": 4})
    assert levels(machine.gpus, Patient(four)) == [Level.FAULT]
    assert levels(machine.gpus, Patient(four, gpus=lambda: (H100,) * 4)) == [Level.OK] * 4
    assert levels(machine.gpus, Patient(config())) == [Level.OK]


def test_a_gpu_that_is_smaller_or_taken_is_told() -> None:
    one = config(hardware={"gpus": 1, "gpu_memory_gib": 80})
    small = Gpu("A10", 24 * GIB, 24 * GIB)
    assert levels(machine.gpus, Patient(one, gpus=lambda: (small,))) == [Level.FAULT]
    taken = Gpu("H100", 80 * GIB, 20 * GIB)
    assert levels(machine.gpus, Patient(one, gpus=lambda: (taken,))) == [Level.DOUBT]


def test_a_place_that_is_no_folder_holds_no_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert levels(places.runs, Patient(runs=tmp_path / "runs")) == [Level.OK]
    assert levels(places.runs, Patient(runs=tmp_path / "file" / "runs")) == [Level.FAULT]


def test_checkpoints_that_do_not_fit_are_told_with_their_size(tmp_path: Path) -> None:
    wide = {"hidden": 4096, "layers": 4000, "heads": 32, "kv_heads": 8, "ffn": 16384}
    huge = config(policy={"size": wide}, checkpoint={"min_free_mb": 0})
    found = only(places.disk(Patient(huge, runs=tmp_path)))
    assert found.level is Level.FAULT and "5 checkpoints of" in found.told
    greedy = config(checkpoint={"min_free_mb": 1e12})
    assert "min_free_mb" in only(places.disk(Patient(greedy, runs=tmp_path))).told
    assert levels(places.disk, Patient(config(), runs=tmp_path)) == [Level.OK]


def test_only_processes_of_ours_without_a_trainer_are_orphans(tmp_path: Path) -> None:
    process(tmp_path, 11, 1, "python -m trainer.worlds.keeper 3")
    process(tmp_path, 12, 11, "python -m trainer.worlds.zygote")
    process(tmp_path, 13, 1, "python -m http.server")
    (tmp_path / "14").mkdir()
    found = only(places.orphans(Patient(proc=tmp_path)))
    assert found.level is Level.DOUBT and "processes 11 outlived" in found.told


def test_a_machine_without_orphans_is_fit(tmp_path: Path) -> None:
    assert levels(places.orphans, Patient(proc=tmp_path)) == [Level.OK]


def test_runs_under_way_and_runs_left_behind_are_told_apart(tmp_path: Path) -> None:
    for name, phase, pid in (("a", "training", 7), ("b", "training", 8), ("c", "finished", 7)):
        (tmp_path / "runs" / name).mkdir(parents=True)
        status = json.dumps({"phase": phase, "pid": pid})
        (tmp_path / "runs" / name / "status.json").write_text(status)
    (tmp_path / "proc" / "7").mkdir(parents=True)
    patient = Patient(runs=tmp_path / "runs", proc=tmp_path / "proc")
    told = [finding.told for finding in places.unfinished(patient)]
    assert len(told) == 2
    assert "run a is being trained by process 7" in told[0]
    assert "eau resume b" in told[1]


def test_a_status_that_cannot_be_read_is_doubtful(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "status.json").write_text("{")
    assert levels(places.unfinished, Patient(runs=tmp_path)) == [Level.DOUBT]


def test_evaluations_inside_a_run_are_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAU_EVAL_ROOT", str(tmp_path / "run" / "evaluations"))
    assert levels(places.evaluations, Patient()) == [Level.OK]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.yaml").write_text("")
    assert levels(places.evaluations, Patient()) == [Level.FAULT]


def test_this_machines_processes_can_be_read() -> None:
    assert os.getpid() in [pid for pid, _, _ in places._processes(Path("/proc"))]
