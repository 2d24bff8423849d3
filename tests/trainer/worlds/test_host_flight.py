"""Calls may be under way while others are answered, and each ends by its own deadline."""

from __future__ import annotations

import select
import signal
import time
from pathlib import Path

from tests.trainer.worlds import stage
from trainer.episode import StopReason
from trainer.task import Task
from trainer.worlds.calls import Call, Fault, Result, Start
from trainer.worlds.flight import CallsInFlight
from trainer.worlds.host import WorldHost
from trainer.worlds.limits import Limits
from trainer.worlds.local import LocalHost
from trainer.worlds.seam import Opening, StepResult

WAITS = """\
import time
from pathlib import Path
from trainer.worlds.seam import Opening, StepResult
class W:
    def __init__(self, gate): self.gate = Path(gate)
    def start(self): return Opening('r', 'h')
    def act(self, action):
        while action.content == 'wait' and not self.gate.exists(): time.sleep(0.01)
        return StepResult(action.content)
def make(task, *, settings, seed): return W(task.payload['gate'])
"""


def open_waiting(folder: Path, host: WorldHost, *keys: str) -> Path:
    """Open episodes of a world whose move `wait` ends when the returned file is there."""
    gate = folder / "gate"
    for key in keys:
        host.open(key, Task(key, "w", "g", "o", payload={"gate": str(gate)}), settings={}, seed=0)
    return gate


def world(folder: Path) -> dict[str, Path]:
    (folder / "w").mkdir()
    (folder / "w" / "env.py").write_text(WAITS)
    return {"w": folder / "w"}


def until(host: WorldHost, wanted: int, seconds: float = 30.0) -> dict[str, Result]:
    """Return the results that come while listening to the host."""
    results: dict[str, Result] = {}
    give_up = time.monotonic() + seconds
    while len(results) < wanted and time.monotonic() < give_up:
        poller = select.poll()
        for descriptor, events in host.descriptors().items():
            poller.register(descriptor, events)
        poller.poll(50)
        results |= host.arrived()
    return results


def test_worlds_in_processes_can_have_calls_under_way_and_worlds_in_this_one_cannot() -> None:
    assert isinstance(WorldHost({}), CallsInFlight)
    assert not isinstance(LocalHost({}), CallsInFlight)


def test_one_that_waits_holds_back_no_other(tmp_path: Path) -> None:
    keys = ["slow", *map(str, range(6))]
    with WorldHost(world(tmp_path)) as host:
        gate = open_waiting(tmp_path, host, *keys)
        host.send({key: Start() for key in keys}, deadline_s=30.0)
        assert until(host, 7) == {key: Opening("r", "h") for key in keys}
        host.send({"slow": stage.act("wait")}, deadline_s=60.0)
        for turn in range(3):
            said = f"turn {turn}"
            host.send({key: stage.act(said) for key in keys[1:]}, deadline_s=30.0)
            assert until(host, 6) == {key: StepResult(said) for key in keys[1:]}
        gate.touch()
        assert until(host, 1) == {"slow": StepResult("wait")}
        assert until(host, 1, seconds=0.1) == {}, "each result is told once"


def test_a_call_past_its_deadline_is_killed_and_the_others_go_on(tmp_path: Path) -> None:
    with WorldHost(world(tmp_path)) as host:
        open_waiting(tmp_path, host, "late", "fine")
        host.send({"late": Start(), "fine": Start()}, deadline_s=30.0)
        until(host, 2)
        host.send({"late": stage.act("wait")}, deadline_s=0.2)
        late = until(host, 1)["late"]
        assert isinstance(late, Fault) and late.stop is StopReason.WORLD_HUNG
        assert late.detail == "no answer to act within 0.2 s"
        host.send({"late": stage.act("more"), "fine": stage.act("on")}, deadline_s=30.0)
        assert until(host, 2) == {"late": late, "fine": StepResult("on")}


def test_a_closed_episode_does_not_come_back(tmp_path: Path) -> None:
    with WorldHost(world(tmp_path)) as host:
        open_waiting(tmp_path, host, "a", "b")
        host.send({"a": Start(), "b": Start()}, deadline_s=30.0)
        until(host, 2)
        host.send({"a": stage.act("wait"), "b": stage.act("on")}, deadline_s=30.0)
        host.close(["a"])
        assert until(host, 2, seconds=0.5) == {"b": StepResult("on")}


def test_a_death_is_told_with_how_it_came(tmp_path: Path) -> None:
    killer = WAITS.replace("while action.content == 'wait'", "import os, signal\n"
                           "        while action.content == 'wait'")  # fmt: skip
    killer = killer.replace("time.sleep(0.01)", "os.kill(os.getpid(), signal.SIGKILL)")
    folders = world(tmp_path)
    (folders["w"] / "env.py").write_text(killer)
    with WorldHost(folders) as host:
        open_waiting(tmp_path, host, "a")
        host.send({"a": Start()}, deadline_s=30.0)
        until(host, 1)
        host.send({"a": stage.act("wait")}, deadline_s=30.0)
        told = until(host, 1)["a"]
    assert isinstance(told, Fault) and told.stop is StopReason.WORLD_DIED
    assert "its process" in told.detail and signal.SIGKILL.name in told.detail


def test_a_world_that_does_not_load_is_given_up_in_its_time() -> None:
    with WorldHost(stage.folders("loads_hanging"), limits=Limits(load_s=0.5)) as host:
        host.open("e", stage.task("loads_hanging"), settings={}, seed=0)
        calls: dict[str, Call] = {"e": Start()}
        host.send(calls, deadline_s=60.0)
        told = until(host, 1)["e"]
    assert isinstance(told, Fault) and told.stop is StopReason.WORLD_HUNG
    assert "did not load within 0.5 s" in told.detail
