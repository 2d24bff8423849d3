"""Processes begun ahead of a step change nothing but the wait, and none of them is lost."""

import os
import shutil
import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.trainer.worlds.stage import HOSTILE, act, alive, task, within
from trainer.episode import StopReason
from trainer.worlds.calls import Fault, Start
from trainer.worlds.host import WorldHost
from trainer.worlds.seam import Opening, StepResult

WORLDS = ("calm", "exits")


@pytest.fixture
def copies(tmp_path: Path) -> dict[str, Path]:
    """Worlds at paths of this test's own, so that their processes can be told apart."""
    for world in WORLDS:
        shutil.copytree(HOSTILE / world, tmp_path / world)
    return {world: tmp_path / world for world in WORLDS}


class Step(NamedTuple):
    """What one step gave, and all the processes that were there while it was played."""

    results: dict[str, object]
    pids: set[int]


def step(host: WorldHost, episodes: int, world: str = "calm", folder: Path = HOSTILE) -> Step:
    """One step: so many episodes are opened, started, moved once and closed."""
    keys = [f"{world}-{number}" for number in range(episodes)]
    for key in keys:
        host.open(key, task(world), settings={}, seed=0)
    started = host.call({key: Start() for key in keys}, deadline_s=30.0)
    assert all(isinstance(result, Opening | Fault) for result in started.values())
    pids = set(alive(folder))
    moved = host.call({key: act() for key in keys}, deadline_s=30.0)
    host.close(keys)
    return Step({**{f"{key} start": value for key, value in started.items()}, **moved}, pids)


def wait_for_spares(folder: Path, played: Step, count: int) -> set[int]:
    """Return the processes that wait after a step: its own are gone, keeper and zygote stay."""

    def there() -> bool:
        now = set(alive(folder))
        return len(now) == 2 + count and len(now & played.pids) == 2

    assert within(10.0, there)
    return set(alive(folder)) - played.pids


def test_a_step_finds_as_many_processes_ready_as_the_last_one_had(copies: dict[str, Path]) -> None:
    folder = copies["calm"]
    with WorldHost(copies, ahead=True) as host:
        spares = wait_for_spares(folder, step(host, 3, folder=folder), 3)
        second = step(host, 2, folder=folder)
        assert spares <= second.pids
        assert len(second.pids) == 2 + 3, "no further process was begun"


def test_without_it_nothing_waits_between_steps(copies: dict[str, Path]) -> None:
    with WorldHost(copies) as host:
        played = step(host, 3, folder=copies["calm"])
        assert wait_for_spares(copies["calm"], played, 0) == set()


@pytest.mark.parametrize("sizes", [(2, 4, 1, 3), (1, 1), (3, 0, 3)])
def test_steps_of_any_size_give_what_they_give_without_it(
    copies: dict[str, Path], sizes: tuple[int, ...]
) -> None:
    with WorldHost(copies, ahead=True) as early, WorldHost(copies) as late:
        for size in sizes:
            assert step(early, size).results == step(late, size).results


def test_a_world_that_dies_is_as_dead_and_costs_as_little(copies: dict[str, Path]) -> None:
    with WorldHost(copies, ahead=True) as host:
        for _ in range(3):
            dead = step(host, 2, "exits").results.values()
            faults = [value for value in dead if isinstance(value, Fault)]
            assert [one.stop for one in faults] == [StopReason.WORLD_DIED] * 2
            calm = step(host, 2).results.values()
            assert all(isinstance(one, Opening | StepResult) for one in calm)


def test_a_waiting_process_that_is_killed_costs_one_episode(copies: dict[str, Path]) -> None:
    folder = copies["calm"]
    with WorldHost(copies, ahead=True) as host:
        spares = wait_for_spares(folder, step(host, 2, folder=folder), 2)
        os.kill(min(spares), signal.SIGKILL)
        found = [type(value) for value in step(host, 2).results.values()]
        assert found.count(Fault) == 2, "one episode: its start and its move"
        after = step(host, 2).results.values()
        assert all(isinstance(value, Opening | StepResult) for value in after)


def test_a_new_revision_plays_in_new_processes(copies: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(copies["calm"], tmp_path / "newer")
    with WorldHost(copies, ahead=True) as host:
        wait_for_spares(copies["calm"], step(host, 2, folder=copies["calm"]), 2)
        host.replace({"calm": tmp_path / "newer"})
        assert alive(copies["calm"]) == []
        assert step(host, 1, folder=tmp_path / "newer").pids


def test_no_waiting_process_is_left_after_shutdown(copies: dict[str, Path]) -> None:
    host = WorldHost(copies, ahead=True)
    wait_for_spares(copies["calm"], step(host, 4, folder=copies["calm"]), 4)
    host.shutdown()
    assert alive(copies["calm"]) == []
