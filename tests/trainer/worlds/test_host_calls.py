"""Calls go out together and come back one by one, in order, the same in and out of process."""

import time
from pathlib import Path

import pytest

from tests.trainer.worlds.stage import act, begin, folders, task
from trainer.episode import Voice
from trainer.message import Action, Choice, Reply
from trainer.task import Fact, Task
from trainer.worlds.calls import Act, Call, Fault, Hear, Host, Judge, Start
from trainer.worlds.host import WorldHost
from trainer.worlds.local import LocalHost
from trainer.worlds.seam import Opening, StepResult, Verdict

HOSTS = [WorldHost, LocalHost]


@pytest.mark.parametrize("kind", HOSTS)
def test_an_episode_runs_from_its_opening_to_its_verdict(kind: type) -> None:
    with kind(folders("calm")) as host:
        host.open("e", task("calm"), settings={"rules": "be kind"}, seed=7)

        def ask(call: Call) -> object:
            return host.call({"e": call}, deadline_s=30.0)["e"]

        assert ask(Start()) == Opening("be kind 7", "good morning")
        tool = Action(Choice.TOOL, "naïve 🙂", "look", {"deep": [{"a": None}]})
        assert ask(Act(tool)) == StepResult(
            "1 tool naïve 🙂", say="naïve 🙂", events=("moved",), reward=0.5
        )
        reply = Reply("no", ("P1", "P2"), True, Voice.NOISY)
        assert ask(Hear(reply)) == StepResult(events=("ended",), withdrawn=("P1", "P2"))
        assert ask(Judge()) == Verdict(success=1 / 3, reward=1.0, metrics={"moves": 1.0})


@pytest.mark.parametrize("kind", HOSTS)
def test_results_come_back_in_the_order_of_the_calls(kind: type) -> None:
    keys = [f"episode {number}" for number in range(40)]
    with kind(folders("calm")) as host:
        for key in keys:
            host.open(key, task("calm"), settings={}, seed=int(key.split()[1]))
        assert list(host.call({key: Start() for key in keys}, deadline_s=30.0)) == keys
        backwards = host.call({key: act(key) for key in reversed(keys)}, deadline_s=30.0)
        assert list(backwards) == keys[::-1]
        for key in keys:
            result = backwards[key]
            assert isinstance(result, StepResult) and result.observation == f"1 search {key}"
        host.close(keys)


def test_episodes_share_nothing_and_repeat_themselves() -> None:
    with WorldHost(folders("calm")) as host:
        for key in ("a", "b"):
            host.open(key, task("calm"), settings={}, seed=3)
        host.call({"a": Start(), "b": Start()}, deadline_s=30.0)
        for _ in range(3):
            host.call({"a": act()}, deadline_s=30.0)
        verdicts = host.call({"a": Judge(), "b": Judge()}, deadline_s=30.0)
        assert isinstance(verdicts["a"], Verdict) and verdicts["a"].success == 1.0
        assert isinstance(verdicts["b"], Verdict) and verdicts["b"].success == 0.0


def test_slow_worlds_are_waited_for_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "env.py").write_text(
        "import time\n"
        "from trainer.worlds.seam import Opening, StepResult\n"
        "class W:\n"
        "    def start(self): return Opening('r', 'h')\n"
        "    def act(self, action): time.sleep(0.5); return StepResult(action.content)\n"
        "def make(task, *, settings, seed): return W()\n"
    )
    keys = [str(number) for number in range(16)]
    with WorldHost({"slow": tmp_path}) as host:
        for key in keys:
            host.open(key, task("slow"), settings={}, seed=0)
        host.call({key: Start() for key in keys}, deadline_s=30.0)
        began = time.monotonic()
        results = host.call({key: act(key) for key in keys}, deadline_s=30.0)
        assert time.monotonic() - began < 4.0, "16 calls of half a second took turns"
        assert results == {key: StepResult(key) for key in keys}


def test_a_task_of_megabytes_arrives_whole() -> None:
    facts = (Fact("P1", "size", "large", "I like it large", ("large",)),)
    large = Task("t", "calm", "g", "o" * 150_000, facts, {"table": ["x" * 1000] * 3000})
    with WorldHost(folders("calm")) as host:
        host.open("e", large, settings={}, seed=0)
        opening = host.call({"e": Start()}, deadline_s=30.0)["e"]
    assert opening == Opening("none 0", large.opening)


@pytest.mark.parametrize("kind", HOSTS)
def test_a_wrong_use_of_a_host_is_an_exception_that_says_what_to_do(kind: type) -> None:
    with kind(folders("calm")) as host:
        host.open("e", task("calm"), settings={}, seed=0)
        with pytest.raises(ValueError, match="'e' is open already; close it, or use another key"):
            host.open("e", task("calm"), settings={}, seed=0)
        with pytest.raises(ValueError, match="the worlds here are: calm"):
            host.open("f", task("clam"), settings={}, seed=0)
        with pytest.raises(ValueError, match="'f' is not open; open it before calling it"):
            host.call({"f": Start()}, deadline_s=1.0)
        with pytest.raises(ValueError, match="are not JSON"):
            host.open("f", task("calm"), settings={"rate": float("nan")}, seed=0)
        with pytest.raises(ValueError, match="1 episodes are open; close them before a replace"):
            host.replace({})
        host.close(["e", "never opened"])
        host.replace({})
        with pytest.raises(ValueError, match="the worlds here are: none"):
            host.check("calm")


@pytest.mark.parametrize(
    "world", ["raises", "raises_at_start", "exits_politely", "pays_nan", "returns_nothing", "nests"]
)
def test_a_fault_reads_the_same_in_and_out_of_process(world: str) -> None:
    def faults(host: Host) -> object:
        begin(host, world)
        first = host.call({world: act()}, deadline_s=30.0)
        assert host.call({world: Judge()}, deadline_s=30.0) == first
        return first

    with WorldHost(folders(world)) as apart, LocalHost(folders(world)) as here:
        told = faults(here)
        assert faults(apart) == told
    assert isinstance(told, dict) and isinstance(told[world], Fault)


def test_a_replaced_folder_is_in_force_for_the_next_episode(tmp_path: Path) -> None:
    source = (
        "from trainer.worlds.seam import Opening\n"
        "class W:\n"
        "    def start(self): return Opening('{revision}', 'h')\n"
        "def make(task, *, settings, seed): return W()\n"
    )
    for revision in ("0001", "0002"):
        (tmp_path / revision).mkdir()
        (tmp_path / revision / "env.py").write_text(source.replace("{revision}", revision))
    for kind in HOSTS:
        with kind({"w": tmp_path / "0001"}) as host:
            assert begin(host, "w") == {"w": Opening("0001", "h")}
            host.close(["w"])
            host.replace({"w": tmp_path / "0002"})
            assert begin(host, "w") == {"w": Opening("0002", "h")}
