"""Whatever a world does, its episode ends with a typed reason and the others go on."""

import time

import pytest

from tests.trainer.worlds.stage import act, begin, folders, task
from trainer.episode import Outcome, StopReason
from trainer.worlds.calls import MAX_DETAIL_CHARS, Fault, Judge, Start
from trainer.worlds.calls import fault as make_fault
from trainer.worlds.host import WorldHost
from trainer.worlds.limits import Limits
from trainer.worlds.seam import Opening, StepResult

IN_ACT = [
    ("raises", StopReason.WORLD_ERROR, r"act raised ValueError: the shelf"),
    ("exits_politely", StopReason.WORLD_ERROR, "SystemExit"),
    ("eats_memory", StopReason.WORLD_ERROR, "MemoryError"),
    ("fills_disk", StopReason.WORLD_ERROR, "File too large"),
    ("exits", StopReason.WORLD_DIED, "exit code 3 during act"),
    ("hangs", StopReason.WORLD_HUNG, "no answer to act within 2 s"),
    ("loops", StopReason.WORLD_HUNG, "no answer to act within 2 s"),
    ("floods", StopReason.WORLD_FLOODED, "in one answer; at most 1048576"),
    ("talks_at_length", StopReason.WORLD_FLOODED, "500000 characters; at most 200000"),
    ("pays_none", StopReason.WORLD_INVALID, "reward = null; it must be a number"),
    ("pays_nan", StopReason.WORLD_INVALID, "NaN, which is not a JSON number"),
    ("returns_nothing", StopReason.WORLD_INVALID, "null where a map of fields belongs"),
    ("returns_a_word", StopReason.WORLD_INVALID, "'done' where a map of fields belongs"),
    ("returns_an_object", StopReason.WORLD_INVALID, "a value of type object cannot travel"),
    ("rules_the_trainer", StopReason.WORLD_INVALID, "a world may say failed, solved"),
    ("nests", StopReason.WORLD_INVALID, "events"),
]
IN_VERDICT = [
    ("verifier_raises", StopReason.WORLD_ERROR, "verdict raised ZeroDivisionError"),
    ("verifier_hangs", StopReason.WORLD_HUNG, "no answer to verdict within 2 s"),
    ("verifier_overrates", StopReason.WORLD_INVALID, r"success = 1.5; it must be in [0, 1]"),
    ("pays_infinity", StopReason.WORLD_INVALID, "Infinity, which is not a JSON number"),
]
IN_START = [
    ("raises_at_start", StopReason.WORLD_ERROR, "start raised KeyError"),
    ("loads_raising", StopReason.WORLD_ERROR, "RuntimeError: no world today (env.py:3)"),
    ("makes_nothing", StopReason.WORLD_ERROR, "no function `make"),
    ("loads_exiting", StopReason.WORLD_DIED, "the process of loads_exiting ended"),
    ("loads_hanging", StopReason.WORLD_HUNG, "did not load within 2 s"),
    ("missing_altogether", StopReason.WORLD_ERROR, "no env.py inside it"),
]


def test_each_fault_in_a_tool_costs_its_own_episode_within_the_deadline() -> None:
    worlds = [world for world, _, _ in IN_ACT]
    limits = Limits(memory_bytes=256 << 20)
    with WorldHost(folders("calm", *worlds), limits=limits) as host:
        begin(host, *worlds, "calm")
        began = time.monotonic()
        results = host.call({world: act() for world in [*worlds, "calm"]}, deadline_s=2.0)
        assert time.monotonic() - began < 10.0
        assert list(results) == [*worlds, "calm"]
        for world, stop, says in IN_ACT:
            fault = results[world]
            assert isinstance(fault, Fault), world
            assert (fault.stop, says in fault.detail) == (stop, True), (world, fault)
            assert fault.stop.outcome is Outcome.QUARANTINED
        calm = results["calm"]
        assert isinstance(calm, StepResult) and calm.observation == "1 search look"
        # After a fault an episode is over, and says so at once.
        assert host.call({world: Judge() for world in worlds}, deadline_s=2.0) == {
            world: results[world] for world in worlds
        }


def test_an_episode_that_burns_its_processor_time_is_ended_by_the_kernel() -> None:
    with WorldHost(folders("eats_cpu"), limits=Limits(cpu_s=1)) as host:
        begin(host, "eats_cpu")
        fault = host.call({"eats_cpu": act()}, deadline_s=60.0)["eats_cpu"]
    assert fault == Fault(StopReason.WORLD_DIED, "its process was killed by SIGKILL during act")


def test_each_fault_in_a_verifier_leaves_no_verdict() -> None:
    worlds = [world for world, _, _ in IN_VERDICT]
    with WorldHost(folders(*worlds)) as host:
        begin(host, *worlds)
        host.call({world: act() for world in worlds}, deadline_s=30.0)
        results = host.call({world: Judge() for world in worlds}, deadline_s=2.0)
    for world, stop, says in IN_VERDICT:
        fault = results[world]
        assert isinstance(fault, Fault) and (fault.stop, says in fault.detail) == (stop, True), (
            fault
        )


def test_a_world_that_does_not_come_up_is_told_by_check_and_by_every_start() -> None:
    worlds = [world for world, _, _ in IN_START]
    with WorldHost(folders("calm", *worlds), limits=Limits(load_s=2.0)) as host:
        results = begin(host, *worlds, "calm")
        assert isinstance(results["calm"], Opening)
        for world, stop, says in IN_START:
            fault = results[world]
            assert isinstance(fault, Fault), world
            assert (fault.stop, says in fault.detail) == (stop, True), (world, fault)
            checked = host.check(world)
            assert checked == (None if world == "raises_at_start" else fault)
        assert host.check("calm") is None
        host.open("again", task("loads_raising"), settings={}, seed=1)
        assert host.call({"again": Start()}, deadline_s=1.0)["again"] == results["loads_raising"]


RAW = [
    pytest.param("ffffffff", StopReason.WORLD_FLOODED, id="a length of four gigabytes"),
    pytest.param("00000002" + b"{}".hex(), StopReason.WORLD_INVALID, id="an empty map"),
    pytest.param("00000003" + "fffefd", StopReason.WORLD_INVALID, id="bytes that are no text"),
    pytest.param("00000000", StopReason.WORLD_INVALID, id="nothing at all"),
    pytest.param("00000001" + b"1".hex() * 9, StopReason.WORLD_INVALID, id="two answers"),
    pytest.param("00010000" + b"[".hex() * 65536, StopReason.WORLD_INVALID, id="a deep tower"),
    pytest.param("000000", StopReason.WORLD_HUNG, id="half a length"),
    pytest.param("00000009" + b"{}".hex(), StopReason.WORLD_HUNG, id="half an answer"),
]


@pytest.mark.parametrize(("content", "stop"), RAW)
def test_bytes_written_past_the_seam_are_a_fault(content: str, stop: StopReason) -> None:
    with WorldHost(folders("speaks_raw")) as host:
        begin(host, "speaks_raw")
        result = host.call({"speaks_raw": act(content)}, deadline_s=0.5)["speaks_raw"]
    assert isinstance(result, Fault)
    assert result.stop is stop


def test_a_world_may_print_as_much_as_it_likes() -> None:
    with WorldHost(folders("chatters")) as host:
        begin(host, "chatters")
        result = host.call({"chatters": act()}, deadline_s=30.0)["chatters"]
    assert isinstance(result, StepResult)
    assert result.observation == "0 characters of input"


def test_a_detail_is_one_printable_line_of_bounded_length() -> None:
    nasty = make_fault(StopReason.WORLD_ERROR, "a\n\x1b[31m\u202e\x00\ud800" + "é" * 400)
    assert nasty.detail.startswith(r"a\n\x1b[31m\u202e\x00\ud800é")
    assert nasty.detail.endswith("...")
    assert len(nasty.detail) == MAX_DETAIL_CHARS
    assert nasty.detail.isprintable()
    assert make_fault(StopReason.WORLD_DIED, "x" * 300).detail == "x" * 300


def test_a_fault_says_where_in_the_world_it_was_raised() -> None:
    with WorldHost(folders("raises")) as host:
        begin(host, "raises")
        fault = host.call({"raises": act()}, deadline_s=30.0)["raises"]
    assert isinstance(fault, Fault)
    assert fault.detail == r"act raised ValueError: the shelf\nis \x1b[31mempty (env.py:13)"
