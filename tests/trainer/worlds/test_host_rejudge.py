"""A verifier judges dialogues that were played elsewhere; what goes wrong there is a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.worlds.stage import task
from trainer import stage
from trainer.episode import Speaker, StopReason, Turn, Voice
from trainer.worlds import catalog
from trainer.worlds.calls import Fault, Rejudge
from trainer.worlds.host import WorldHost
from trainer.worlds.local import LocalHost
from trainer.worlds.seam import Verdict

HOSTS = [WorldHost, LocalHost]

TURNS = (
    Turn(Speaker.SYSTEM, "rules", 0),
    Turn(Speaker.AGENT, "which?", 0),
    Turn(
        Speaker.USER,
        "the naïve one 🙂",
        0,
        voice=Voice.NOISY,
        revealed=("P1", "P2"),
        private={"thought": "a secret"},
        events=("elicited",),
    ),
)

ENV = """
def make(task, *, settings, seed):
    {make}
"""

VERIFIER = """
from trainer.worlds.seam import Verdict

def rejudge(task, turns, settings):
    {rejudge}
"""


def world(folder: Path, *, rejudge: str | None, make: str = "return object()") -> Path:
    """Write a world whose verifier does what it is told to; None leaves it out."""
    (folder / "env.py").write_text(ENV.format(make=make))
    if rejudge is not None:
        (folder / "verifier.py").write_text(VERIFIER.format(rejudge=rejudge))
    return folder


def ask(kind: type, folder: Path, *, deadline_s: float = 30.0) -> object:
    with kind({"w": folder}) as host:
        host.open("e", task("w"), settings={"max_steps": 4}, seed=1)
        return host.call({"e": Rejudge(TURNS)}, deadline_s=deadline_s)["e"]


@pytest.mark.parametrize("kind", HOSTS)
def test_the_verifier_reads_task_turns_and_settings_and_nothing_private(
    kind: type, tmp_path: Path
) -> None:
    told = (
        "last = turns[-1]\n"
        "    assert (last.speaker, last.text, last.agent_turn) == ('user', 'the naïve one 🙂', 0)\n"
        "    assert (last.voice, last.revealed) == ('noisy', ('P1', 'P2'))\n"
        "    assert (last.events, dict(last.private)) == (('elicited',), {})\n"
        "    return Verdict(0.5, 1.0, {'turns': len(turns), 'limit': settings['max_steps'],\n"
        "                              'same': float(task.id == 'w-1')})"
    )
    found = ask(kind, world(tmp_path, rejudge=told))
    assert found == Verdict(0.5, 1.0, {"turns": 3.0, "limit": 4.0, "same": 1.0})


@pytest.mark.parametrize("kind", HOSTS)
def test_a_world_that_cannot_be_played_can_still_judge(kind: type, tmp_path: Path) -> None:
    folder = world(tmp_path, rejudge="return Verdict(1.0, 0.0)", make="raise ValueError('no')")
    assert ask(kind, folder) == Verdict(1.0, 0.0)


@pytest.mark.parametrize("kind", HOSTS)
@pytest.mark.parametrize(
    ("rejudge", "stop", "says"),
    [
        ("return 1 / 0", StopReason.WORLD_ERROR, "rejudge raised ZeroDivisionError"),
        ("return Verdict(1.5, 0.0)", StopReason.WORLD_INVALID, "it must be in [0, 1]"),
        ("return Verdict(float('nan'), 0.0)", StopReason.WORLD_INVALID, "NaN"),
        ("return 'a success'", StopReason.WORLD_INVALID, "where a map of fields belongs"),
        (None, StopReason.WORLD_ERROR, "rejudge raised ModuleNotFoundError"),
    ],
)
def test_a_verifier_that_fails_is_a_fault(
    kind: type, rejudge: str | None, stop: StopReason, says: str, tmp_path: Path
) -> None:
    found = ask(kind, world(tmp_path, rejudge=rejudge))
    assert isinstance(found, Fault)
    assert found.stop is stop
    assert says in found.detail


def test_a_verifier_that_hangs_or_dies_costs_its_own_episode(tmp_path: Path) -> None:
    body = (
        "import os, time\n"
        "    if task.payload['does'] == 'hang': time.sleep(3600)\n"
        "    if task.payload['does'] == 'die': os._exit(3)\n"
        "    return Verdict(1.0, 0.0)"
    )
    with WorldHost({"w": world(tmp_path, rejudge=body)}) as host:
        for does in ("hang", "die", "judge"):
            host.open(does, task("w", does=does), settings={}, seed=1)
        # Long enough for the processes to begin on a busy machine.
        host.call({"judge": Rejudge(TURNS)}, deadline_s=30.0)
        calls = {does: Rejudge(TURNS) for does in ("hang", "die", "judge")}
        found = host.call(calls, deadline_s=1.0)
    stops = [one.stop if isinstance(one, Fault) else None for one in found.values()]
    assert stops == [StopReason.WORLD_HUNG, StopReason.WORLD_DIED, None]
    assert found["judge"] == Verdict(1.0, 0.0)


@pytest.mark.parametrize("name", ["travel", "intention", "persuasion"])
def test_a_built_in_verifier_finds_in_recorded_turns_what_it_found_in_play(name: str) -> None:
    played = stage.stage(name)
    first = catalog.tasks(name, "train")[0]
    settings = {**played.declaration.settings, "max_steps": played.declaration.turn_limit}
    with WorldHost({name: played.world.folder}) as host:
        for player in ("oracle", "idle"):
            episode = played.play(first, player, seed=3)
            host.open(player, first, settings=settings, seed=3)
            found = host.call({player: Rejudge(episode.turns)}, deadline_s=30.0)[player]
            assert isinstance(found, Verdict)
            assert found.success == episode.success
            assert dict(found.metrics) == dict(episode.metrics)
