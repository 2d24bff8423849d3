"""A line asks no more at once than its end can bear, and a bell may be rung by anyone, late too."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence

import pytest

from tests.trainer.rollout.cast import Clock
from trainer.rollout.bell import Bell
from trainer.rollout.line import Line, Told

PATIENCE_S = 30.0


class Counter:
    """Answers a batch with what was asked, once the gate is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.batches: list[list[str]] = []

    def __call__(self, asked: Sequence[str]) -> list[str]:
        """Note who was asked together."""
        self.batches.append(list(asked))
        assert self.gate.wait(PATIENCE_S)
        return [one.upper() for one in asked]


def told(line: Line[str, str], count: int) -> list[Told[str]]:
    found: list[Told[str]] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        found += line.finished()
        time.sleep(0.001)
    return found


def test_with_room_for_one_all_who_wait_by_then_are_asked_together() -> None:
    counter, clock = Counter(), Clock()
    line = Line[str, str](counter, 1, clock, lambda: None)
    for key in "abcd":
        line.put(key, key)
    clock.advance(3.0)()
    assert line.began_s("a") == 0.0 and line.began_s("b") is None
    line.drop("c")
    counter.gate.set()
    assert [(one.key, one.answer) for one in told(line, 3)] == [("a", "A"), ("b", "B"), ("d", "D")]
    assert counter.batches == [["a"], ["b", "d"]]
    assert line.is_idle


def test_with_room_for_more_each_is_asked_alone_and_timed_from_when_its_turn_came() -> None:
    counter, clock = Counter(), Clock()
    line = Line[str, str](counter, 2, clock, lambda: None)
    for key in "abc":
        line.put(key, key)
    while len(counter.batches) < 2:
        time.sleep(0.001)
    assert line.began_s("c") is None
    clock.advance(2.0)()
    counter.gate.set()
    found = told(line, 3)
    assert {one.key: one.seconds for one in found} == {"a": 2.0, "b": 2.0, "c": 0.0}
    assert sorted(counter.batches) == [["a"], ["b"], ["c"]]


def test_what_the_answering_raises_is_raised_to_the_one_who_asks() -> None:
    def broken(asked: Sequence[str]) -> list[str]:
        raise KeyError("a bug")

    line = Line[str, str](broken, 1, Clock(), lambda: None)
    line.put("a", "a")
    with pytest.raises(KeyError, match="a bug"):
        told(line, 1)


def test_a_ring_before_the_wait_is_not_lost_and_one_after_the_end_hits_nobody() -> None:
    with Bell() as bell:
        bell.ring()
        began = time.monotonic()
        bell.wait({}, PATIENCE_S)
        assert time.monotonic() - began < PATIENCE_S
        threading.Timer(0.01, bell.ring).start()
        bell.wait({}, PATIENCE_S)
        bell.wait({}, 0.0)
    reader, writer = os.pipe()
    bell.ring()
    os.close(writer)
    assert os.read(reader, 8) == b"", "the bell's number may be another's by now"
    os.close(reader)
