"""What tasks share is read once, before the first of their episodes, and found by all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.worlds.stage import task
from trainer.worlds.calls import Fault, Result, Start
from trainer.worlds.host import WorldHost
from trainer.worlds.process import MAX_SHARED_BYTES
from trainer.worlds.seam import Opening

ENV = """
from trainer.worlds.seam import Opening

READ = []

def prepare(task):
    READ.append([task.payload, task.provenance, task.goal])
    {more}

class Env:
    def start(self):
        return Opening("rules", repr(READ))

def make(task, *, settings, seed):
    return Env()
"""
SHARED = {"shared": ["file"], "file": "a.json", "own": "secret"}


def played(folder: Path, *payloads: Mapping[str, Any], more: str = "") -> list[Result]:
    """Open an episode for each payload, one after the other, and return how it opened."""
    folder.joinpath("env.py").write_text(ENV.format(more=more))
    results = []
    with WorldHost({"w": folder}) as host:
        for number, payload in enumerate(payloads):
            host.open(f"e{number}", task("w", **payload), settings={}, seed=1)
            results += host.call({f"e{number}": Start()}, deadline_s=30.0).values()
    return results


def openings(results: list[Result]) -> list[str]:
    assert all(isinstance(result, Opening) for result in results), results
    return [result.user for result in results if isinstance(result, Opening)]


def test_every_episode_finds_what_was_read_and_nothing_of_another_task(tmp_path: Path) -> None:
    other = {**SHARED, "own": "other"}
    expected = repr([[{"file": "a.json"}, "built-in", ""]])
    assert openings(played(tmp_path, SHARED, other)) == [expected, expected]


def test_other_data_are_read_beside_the_first(tmp_path: Path) -> None:
    first, second = openings(played(tmp_path, SHARED, {**SHARED, "file": "b.json"}))
    assert "b.json" not in first
    assert first[1:-1] in second and "b.json" in second


def test_tasks_that_share_nothing_prepare_nothing(tmp_path: Path) -> None:
    assert openings(played(tmp_path, {"file": "a.json"})) == ["[]"]


@pytest.mark.parametrize("more", ["raise OSError('no such file')", "raise SystemExit(3)"])
def test_a_world_that_cannot_read_goes_on_to_its_episodes(tmp_path: Path, more: str) -> None:
    assert "a.json" in openings(played(tmp_path, SHARED, more=more))[0]


def test_only_names_are_shared_not_what_they_stand_for(tmp_path: Path) -> None:
    tmp_path.joinpath("env.py").write_text(ENV.format(more=""))
    long = replace(task("w"), payload={"shared": ["file"], "file": "x" * MAX_SHARED_BYTES})
    with WorldHost({"w": tmp_path}) as host, pytest.raises(ValueError, match="names of files"):
        host.open("e", long, settings={}, seed=1)


def test_a_world_without_the_function_is_none_the_worse(tmp_path: Path) -> None:
    text = ENV.replace("def prepare", "def other")
    tmp_path.joinpath("env.py").write_text(text.format(more=""))
    with WorldHost({"w": tmp_path}) as host:
        host.open("e", task("w", **SHARED), settings={}, seed=1)
        (result,) = host.call({"e": Start()}, deadline_s=30.0).values()
    assert not isinstance(result, Fault)
