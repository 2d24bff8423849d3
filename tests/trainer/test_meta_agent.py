"""A supervisor starts with its run, is given time to finish, and leaves nothing behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from gate.contract.paths import RunPaths
from trainer import meta_agent, recipe_file
from trainer.recipe import MetaAgentConfig

OPERATOR = MetaAgentConfig(agent="operator", every=4)


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    paths = RunPaths(tmp_path / "run")
    paths.root.mkdir()
    return paths


def program(text: str) -> tuple[str, ...]:
    return (sys.executable, "-u", "-c", text)


def said(run: RunPaths) -> str:
    return (run.supervisor / "output.log").read_text()


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A child that nobody has waited for is gone all the same.
    return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"


def test_a_run_without_a_meta_agent_starts_nothing(run: RunPaths) -> None:
    with meta_agent.beside(MetaAgentConfig(), run, command=program("raise SystemExit(1)")):
        pass
    assert not run.supervisor.exists()


def test_it_is_told_the_run_and_how_often_and_how_far(run: RunPaths) -> None:
    with meta_agent.beside(OPERATOR, run, command=program("import sys; print(sys.argv[1:])")):
        pass
    expected = [str(run.root), "--agent", "operator", "--every", "4", "--autonomy", "act"]
    assert said(run).strip() == str(expected)


def test_lessons_of_a_demonstration_stay_in_its_run(run: RunPaths) -> None:
    config = MetaAgentConfig(agent="operator", own_experience=True)
    with meta_agent.beside(config, run, command=program("import sys; print(sys.argv[-1])")):
        pass
    assert said(run).strip() == str(run.root / "experience")
    assert (run.root / "experience" / "lessons").is_dir()


TICKS = """
import json, pathlib, sys, time
run = pathlib.Path(sys.argv[1])
time.sleep(.3)
(run / "supervisor" / "0001").mkdir()
(run / "supervisor" / "0001" / "tick.json").write_text(json.dumps({"step": 4}))
time.sleep(30)
"""
WAITS = MetaAgentConfig(agent="operator", every=4, waits=True)


def test_a_study_waits_for_the_tick_that_is_due_and_for_no_other(run: RunPaths) -> None:
    tick = run.supervisor / "0001" / "tick.json"
    with meta_agent.beside(WAITS, run, command=program(TICKS), last_tick_s=0.0) as wait:
        wait(3, lambda: False)
        assert not tick.exists()
        wait(4, lambda: False)
        assert tick.exists()
        wait(7, lambda: False)


def test_who_asks_to_stop_is_not_kept_waiting_for_a_tick(run: RunPaths) -> None:
    hangs = program("import time; time.sleep(60)")
    with meta_agent.beside(WAITS, run, command=hangs, last_tick_s=0.0) as wait:
        wait(4, lambda: True)


def test_a_supervisor_that_is_gone_is_waited_for_no_longer(run: RunPaths) -> None:
    with meta_agent.beside(WAITS, run, command=program("raise SystemExit(1)")) as wait:
        wait(4, lambda: False)


def test_without_a_word_in_the_recipe_nobody_is_waited_for(run: RunPaths) -> None:
    hangs = program("import time; time.sleep(60)")
    with meta_agent.beside(OPERATOR, run, command=hangs, last_tick_s=0.0) as wait:
        wait(400, lambda: False)


def test_it_may_finish_what_it_is_doing_when_the_run_ends(run: RunPaths) -> None:
    with meta_agent.beside(OPERATOR, run, command=program("import time; time.sleep(.3); print(7)")):
        pass
    assert said(run).strip() == "7"


def test_one_that_crashes_costs_the_run_nothing(run: RunPaths) -> None:
    with meta_agent.beside(OPERATOR, run, command=program("raise SystemExit('broken')")):
        pass
    assert "broken" in said(run)


def test_one_that_hangs_is_ended_with_all_that_it_started(
    run: RunPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meta_agent, "END_S", 0.2)
    hangs = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(os.getpid(), child.pid)\n"
        "time.sleep(600)\n"
    )
    with meta_agent.beside(OPERATOR, run, command=program(hangs), last_tick_s=0.1):
        while not said(run).strip():
            time.sleep(0.01)
    for process in map(int, said(run).split()):
        ends = time.monotonic() + 5.0
        while is_alive(process) and time.monotonic() < ends:
            time.sleep(0.01)
        assert not is_alive(process)


def test_a_run_that_breaks_does_not_wait_for_it(run: RunPaths) -> None:
    began = time.monotonic()
    sleeper = program("import time; time.sleep(600)")
    with (
        pytest.raises(RuntimeError, match="broken"),
        meta_agent.beside(OPERATOR, run, command=sleeper, last_tick_s=600.0),
    ):
        raise RuntimeError("broken")
    assert time.monotonic() - began < 60.0


def test_a_recipe_names_its_meta_agent() -> None:
    config = recipe_file.load("demo", ["meta_agent.agent=operator", "meta_agent.every=4"])
    assert config.meta_agent == OPERATOR
