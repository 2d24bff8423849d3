"""Two episodes in one process are what they are in two: a world leaves nothing behind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trainer.episode import Episode, Speaker
from trainer.message import Reply, read_action
from trainer.probe import pair
from trainer.probe.outcome import NOTHING, Outcome, finding, found
from trainer.probe.players import PERFECT
from trainer.probe.subject import Subject, Version
from trainer.rollout.scripted import world_seed
from trainer.task import Task
from trainer.worlds import wire
from trainer.worlds.calls import Act, Call, Hear, Judge, Start
from trainer.worlds.host import WorldHost
from trainer.worlds.limits import Limits
from trainer.worlds.loading import ENTRY_FILE

NAME = "isolation"
MOST_PAIRS = 3


def check(subject: Subject, version: Version) -> Outcome:
    """Play the oracle on a task after another task, in the same process.

    Source:
        tau2-bench#154: a shared object leaks one task's fault into others of the same process.
    """
    if not subject.has_own_files(version) or len(subject.tasks) < 2:
        return NOTHING
    oracle = subject.world.players["oracle"]
    pairs = list(zip(subject.tasks[1:], subject.tasks, strict=False))[:MOST_PAIRS]
    lost: list[str] = []
    settings = {
        task.id: {
            **version.world_settings,
            "pair": _pair(
                subject, version, before, subject.play(version, PERFECT, oracle, before).episode
            ),
        }
        for before, task in pairs
    }
    tasks = [task for _, task in pairs]
    with _paired(version.folder) as folder, _host(subject, folder) as host:
        after = subject.play_all(version, oracle, tasks, host=host, settings=settings)
    for (before, task), played in zip(pairs, after, strict=True):
        if played.episode != subject.play(version, PERFECT, oracle, task).episode:
            lost.append(f"{task.id} after {before.id}")
    share = len(lost) / len(pairs)
    if not lost:
        return found(share)
    return found(
        share,
        [
            finding(
                NAME,
                f"{len(lost)} of {len(pairs)} episodes of {subject.name} went another way when the "
                f"process had played another task before: {lost[0]}.",
                "Keep all state in the Env that `make` returns, none in modules or classes.",
                path=f"world.{subject.name}.env",
                value=round(share, 4),
                limit=0,
            )
        ],
    )


@contextmanager
def _paired(world: Path) -> Iterator[Path]:
    """Give a folder with the stand-in world, and a copy of a world for it to load."""
    with TemporaryDirectory(prefix="eau-pair-") as name:
        folder = Path(name)
        shutil.copy(Path(pair.__file__).with_name(ENTRY_FILE), folder / ENTRY_FILE)
        shutil.copytree(world, folder / "inner", ignore=shutil.ignore_patterns("__pycache__"))
        yield folder


def _host(subject: Subject, folder: Path) -> WorldHost:
    limits = Limits(load_s=subject.budget.loading_s)
    return WorldHost({subject.name: folder}, limits=limits)


def _pair(subject: Subject, version: Version, task: Task, episode: Episode) -> Mapping[str, Any]:
    """Return the episode before, as the requests that its world was sent."""
    calls: list[Call] = [Start()]
    for turn in episode.turns:
        if turn.speaker is Speaker.AGENT:
            calls.append(Act(read_action(turn.text)))
        elif turn.speaker is Speaker.USER and turn.voice is not None:
            calls.append(Hear(Reply(turn.text, turn.revealed, voice=turn.voice)))
    calls.append(Judge())
    begin = wire.begin_request(task, version.world_settings, world_seed(subject.episode_seed(task)))
    return {
        "begin": json.loads(begin),
        "requests": [json.loads(wire.call_request(call)) for call in calls],
    }
