"""No process, file or secret is left where it should not be, whoever is killed and when."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.trainer.worlds.stage import HOSTILE, act, alive, begin, folders, task, within
from trainer.episode import StopReason
from trainer.worlds import processes
from trainer.worlds.calls import Fault, Start
from trainer.worlds.host import WorldHost
from trainer.worlds.seam import Opening, StepResult

CHECKOUT = Path(__file__).resolve().parents[3]

TRAINER = """
import os, sys
from pathlib import Path
from tests.trainer.worlds.stage import act, begin
from trainer.worlds.host import WorldHost

host = WorldHost({path.name: path for path in map(Path, sys.argv[1:])})
begin(host, "forks", "hangs", "loops")
host.call({"forks": act()}, deadline_s=30.0)
print("begun", flush=True)
host.call({"hangs": act(), "loops": act()}, deadline_s=3600.0)
"""


@pytest.fixture
def copies(tmp_path: Path) -> dict[str, Path]:
    """Hostile worlds at paths of this test's own, so that their processes can be told apart."""
    for world in ("calm", "forks", "hangs", "loops", "loads_hanging", "looks_around"):
        shutil.copytree(HOSTILE / world, tmp_path / world)
    return {path.name: path for path in tmp_path.iterdir()}


def test_after_shutdown_no_process_is_left(copies: dict[str, Path]) -> None:
    worlds = ("calm", "forks", "hangs", "loops")
    host = WorldHost(copies)
    begin(host, *worlds)
    host.call({"forks": act()}, deadline_s=30.0)
    host.call({world: act() for world in ("hangs", "loops")}, deadline_s=0.2)
    assert all(alive(copies[world]) for world in worlds)
    host.shutdown()
    assert [alive(copies[world]) for world in worlds] == [[], [], [], []]
    host.shutdown()
    assert begin(host, "calm").keys() == {"calm"}, "a host can be used again"
    host.shutdown()
    assert alive(copies["calm"]) == []


def test_a_host_shut_down_in_the_middle_of_loading_leaves_nothing(copies: dict[str, Path]) -> None:
    host = WorldHost(copies)
    for world in ("calm", "loads_hanging"):
        host.open(world, task(world), settings={}, seed=0)
    host.shutdown()
    assert alive(copies["calm"]) + alive(copies["loads_hanging"]) == []


def test_a_host_that_is_forgotten_ends_its_processes(copies: dict[str, Path]) -> None:
    host = WorldHost(copies)
    begin(host, "calm")
    assert alive(copies["calm"])
    del host
    assert alive(copies["calm"]) == []


def test_a_late_episode_is_killed_and_so_is_one_that_is_closed(copies: dict[str, Path]) -> None:
    with WorldHost(copies) as host:
        host.check("loops")
        idle = len(alive(copies["loops"]))
        for key in ("late", "closed"):
            host.open(key, task("loops"), settings={}, seed=0)
        host.call({"late": Start(), "closed": Start()}, deadline_s=30.0)
        assert len(alive(copies["loops"])) == idle + 2
        host.call({"late": act()}, deadline_s=0.2)
        assert within(5.0, lambda: len(alive(copies["loops"])) == idle + 1)
        host.close(["closed"])
        assert within(5.0, lambda: len(alive(copies["loops"])) == idle)


def test_what_an_episode_forked_does_not_outlive_it(copies: dict[str, Path]) -> None:
    with WorldHost(copies) as host:
        host.check("forks")
        idle = len(alive(copies["forks"]))
        begin(host, "forks")
        result = host.call({"forks": act()}, deadline_s=30.0)["forks"]
        if os.getuid() == 0:
            assert isinstance(result, StepResult)
        else:  # the kernel keeps others than root from forking at all
            assert isinstance(result, Fault) and "temporarily unavailable" in result.detail
        host.close(["forks"])
        assert within(5.0, lambda: len(alive(copies["forks"])) == idle)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_a_killed_trainer(copies: dict[str, Path], how: signal.Signals) -> None:
    worlds = ("forks", "hangs", "loops")
    trainer = subprocess.Popen(
        [sys.executable, "-c", TRAINER, *(str(copies[world]) for world in worlds)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with trainer:
        assert trainer.stdout is not None and trainer.stdout.readline() == b"begun\n"
        assert all(alive(copies[world]) for world in worlds)
        trainer.send_signal(how)
    assert within(5.0, lambda: not any(alive(copies[world]) for world in worlds))


def test_a_dead_zygote_costs_the_step_and_is_back_in_the_next() -> None:
    with WorldHost(folders("kills_zygote", "calm")) as host:
        assert isinstance(begin(host, "kills_zygote", "calm")["kills_zygote"], Opening)
        host.open("second", task("kills_zygote"), settings={}, seed=0)
        host.call({"second": Start()}, deadline_s=30.0)
        results = host.call(
            {"kills_zygote": act(), "second": act(), "calm": act()}, deadline_s=30.0
        )
        assert isinstance(results["calm"], StepResult)
        host.open("third", task("kills_zygote"), settings={}, seed=0)
        results |= host.call({"third": Start()}, deadline_s=30.0)
        for key in ("kills_zygote", "second", "third"):
            fault = results[key]
            assert isinstance(fault, Fault) and fault.stop is StopReason.WORLD_DIED
        host.close(["kills_zygote", "second", "third"])
        host.open("same step", task("kills_zygote"), settings={}, seed=0)
        same = host.call({"same step": Start()}, deadline_s=30.0)["same step"]
        assert isinstance(same, Fault) and same.stop is StopReason.WORLD_DIED
        host.close(["same step", "calm"])
        assert isinstance(begin(host, "kills_zygote")["kills_zygote"], Opening)


def test_a_killed_keeper_is_told_as_a_death_and_its_folder_goes(copies: dict[str, Path]) -> None:
    scratch = set(Path("/tmp").glob("eau-world-*"))
    with WorldHost(copies) as host:
        begin(host, "calm")
        (keeper,) = [
            pid for pid in alive(copies["calm"]) if processes.parent_of(pid) == os.getpid()
        ]
        os.kill(keeper, signal.SIGKILL)
        assert within(5.0, lambda: alive(copies["calm"]) == [])
        fault = host.call({"calm": act()}, deadline_s=30.0)["calm"]
        assert isinstance(fault, Fault) and fault.stop is StopReason.WORLD_DIED
    assert within(5.0, lambda: alive(copies["calm"]) == [])
    assert set(Path("/tmp").glob("eau-world-*")) <= scratch


def test_a_world_sees_no_secret_no_file_and_no_tensor_library(
    copies: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    scratch = set(Path("/tmp").glob("eau-world-*"))
    with WorldHost(copies) as host:
        for key in ("a", "b"):
            host.open(key, task("looks_around"), settings={}, seed=0)
        host.call({"a": Start(), "b": Start()}, deadline_s=30.0)
        results = host.call({"a": act(), "b": act()}, deadline_s=30.0)
        sights = []
        for result in results.values():
            assert isinstance(result, StepResult)
            sights.append(json.loads(result.observation))
        one, other = sights
        assert one["folder"] != other["folder"]
        assert one["environment"]["HOME"] == one["environment"]["TMPDIR"] == one["folder"]
        assert set(one["environment"]) <= {
            *("PATH", "LANG", "HOME", "TMPDIR", "PYTHONPATH", "PYTHONHASHSEED"),
            *("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "LC_CTYPE"),
        }
        assert (one["files"], one["heavy"], one["core"]) == ([], [], 0)
        # Input, output, errors, the line to the trainer, and the listing itself.
        assert one["descriptors"] == 5
        host.close(["a", "b"])
        assert within(5.0, lambda: not Path(one["folder"]).exists())
    assert set(Path("/tmp").glob("eau-world-*")) <= scratch


def test_a_world_has_no_network_unless_the_host_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, WorldHost(folders("dials")) as host:
        begin(host, "dials")
        port = server.getsockname()[1]
        result = host.call({"dials": act(str(port))}, deadline_s=30.0)["dials"]
        assert isinstance(result, StepResult)
        assert ("connected" in result.observation) == (host.unfenced() == ["dials"])


def test_the_host_itself_loads_no_tensor_library() -> None:
    code = (
        "import sys, trainer.worlds.host, trainer.worlds.keeper\n"
        "print([m for m in ('torch', 'transformers', 'numpy') if m in sys.modules])"
    )
    seen = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert seen.stdout.strip() == "[]"


def test_many_episodes_cost_a_step_little() -> None:
    keys = [str(number) for number in range(32)]
    with WorldHost(folders("calm")) as host:
        host.check("calm")
        began = time.monotonic()
        for key in keys:
            host.open(key, task("calm"), settings={}, seed=0)
        host.call({key: Start() for key in keys}, deadline_s=30.0)
        for _ in range(18):
            host.call({key: act("x" * 200) for key in keys}, deadline_s=30.0)
        host.close(keys)
        # About 0.1 s on an idle core; the bound only catches a change of kind.
        assert time.monotonic() - began < 3.0
