"""The run log: what happened, written so that a crash loses at most the line being written.

Records are made from values and appended; nothing is ever rewritten but `status.json`. While a
resumed run replays steps that are already on file, it compares instead of appending: evidence
stays, and a difference is told. This module knows nothing about how the values came about.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from gate.contract import files, records
from gate.contract.paths import RunPaths
from gate.contract.records import EpisodeRecord, EventRecord, StatusRecord, StepRecord
from trainer.episode import Episode, Turn
from trainer.question import Answers, answers_on_file
from trainer.rollout.schedule import Assignment

REMEMBERED_STEPS = 16
"""Records before the present step that a log keeps in memory."""


class LoggedSteps(NamedTuple):
    """The newest part of `steps.jsonl`."""

    records: tuple[Mapping[str, Any], ...]
    """In the file's order."""
    torn: int
    """Lines among them that a crash cut short."""


def steps_after(path: Path, step: int) -> LoggedSteps:
    """Read the records of the steps after one, from the end of the file and no further."""
    records: list[Mapping[str, Any]] = []
    torn = 0
    for line in files.lines_from_the_end(path):
        record, _ = files.parse_line(line)
        if record is None or not isinstance(record.get("step"), int):
            torn += bool(line.strip())
        elif record["step"] <= step:
            break
        else:
            records.append(record)
    return LoggedSteps(tuple(reversed(records)), torn)


class RunLog:
    """Appends the records of one run."""

    def __init__(self, paths: RunPaths, *, now: Callable[[], float], after: int = 0) -> None:
        """Open the log of a run.

        Args:
            paths: The run's directory.
            now: Returns seconds since 1970.
            after: The step that the run goes on from; later ones on file are compared with.
        """
        self._paths = paths
        self._now = now
        logged = steps_after(paths.steps, after - REMEMBERED_STEPS).records
        self._logged = {record["step"]: record for record in logged}
        self._last_step = max(self._logged, default=0)
        self._status: StatusRecord | None = None
        before = _status_before(paths.status)
        self._spent = _mapping(before, "endpoint") or {}
        self._judge_spent = _mapping(before, "judge") or {}
        self._under_way = _mapping(before, "under_way")

    @property
    def spent(self) -> Mapping[str, Any]:
        """What earlier processes of the run asked of the user's endpoint (`status.json`)."""
        return self._spent

    @property
    def judge_spent(self) -> Mapping[str, Any]:
        """What earlier processes of the run asked of the judge's endpoint (`status.json`)."""
        return self._judge_spent

    def answers(self, step: int) -> Mapping[str, Answers]:
        """Return what a judge said of each episode of a step that is on file, by episode."""
        path = self._paths.episodes_of(step)
        content = path.read_bytes() if path.is_file() else b""
        found = files.parse_lines(content.split(b"\n")).records
        return {str(one.get("id")): answers_on_file(one.get("judged")) for one in found}

    @property
    def last_step(self) -> int:
        """The newest step on file; 0 before the first."""
        return self._last_step

    def logged(self, step: int) -> Mapping[str, Any] | None:
        """Return the record of a step that is on file; of steps long past it knows none."""
        return self._logged.get(step)

    def under_way(self, step: int) -> Mapping[str, Any] | None:
        """Return what a step was under that an earlier process was learning from when it ended.

        None for any other step, and for one that is on file.
        """
        told = self._under_way
        if told is None or told.get("step") != step or step in self._logged:
            return None
        return told

    def rewards(self, steps: int, *, upto: int) -> list[float | None]:
        """Return the mean rewards of the last steps up to one, of those still remembered."""
        numbers = range(max(upto - steps, 0) + 1, upto + 1)
        return [one["reward"] for number in numbers if (one := self.logged(number)) is not None]

    def clear_leftovers(self) -> None:
        """Remove temporary files of a process that was killed while it wrote a whole file."""
        for folder, pattern in (
            (self._paths.root, ".status.json.*.tmp"),
            (self._paths.episodes, ".*.jsonl.*.tmp"),
        ):
            for leftover in folder.glob(pattern):
                leftover.unlink(missing_ok=True)

    def event(self, kind: str, step: int, **detail: Any) -> None:
        """Append an event; `kind` is one of `gate.contract.records.EVENT_KINDS`."""
        if kind not in records.EVENT_KINDS:
            raise ValueError(f"no event kind {kind!r}; declare it in gate.contract.records")
        event = EventRecord(kind=kind, step=step, detail=detail, time=self._now())
        files.append_line(self._paths.events, records.to_json(event))

    def step(self, record: StepRecord, episodes: Sequence[EpisodeRecord]) -> list[str]:
        """Write a step's episodes and then its record, or compare it if it is on file.

        Returns:
            Names of fields that differ from the record on file; empty for a new step.
        """
        new = records.to_json(record)
        old = self._logged.get(record.step)
        self._logged.pop(record.step - REMEMBERED_STEPS, None)
        if old is not None:
            mine = records.without_clock(StepRecord, new)
            theirs = records.without_clock(StepRecord, old)
            return sorted(key for key in mine if mine[key] != theirs.get(key))
        lines = [files.encode_line(records.to_json(episode)) for episode in episodes]
        files.write_whole(
            self._paths.episodes_of(record.step), b"".join(line + b"\n" for line in lines)
        )
        # On the disk before any checkpoint that says so.
        files.append_line(self._paths.steps, new, durable=True)
        self._logged[record.step] = new
        self._last_step = record.step
        return []

    def status(self, **fields: Any) -> None:
        """Replace `status.json`: the fields given, everything else as it was."""
        if self._status is None:
            self._status = replace(
                _blank_status(self._paths.root.name),
                endpoint=self._spent,
                judge=self._judge_spent,
                under_way=self._under_way,
            )
        self._status = replace(
            self._status, **fields, pid=os.getpid(), heartbeat=round(self._now(), 3)
        )
        content = files.encode_line(records.to_json(self._status))
        files.write_whole(self._paths.status, content + b"\n")


def _status_before(path: Path) -> Mapping[str, Any]:
    """Return the status that an earlier process left; empty where there is none."""
    try:
        return files.parse_line(path.read_bytes())[0] or {}
    except FileNotFoundError:
        return {}


def _mapping(status: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    found = status.get(name)
    return found if isinstance(found, Mapping) else None


def _blank_status(run: str) -> StatusRecord:
    return StatusRecord(
        run=run,
        phase="starting",
        stage="starting",
        step=0,
        total_steps=0,
        revision=0,
        refused=[],
        warnings=[],
        in_force_since={},
        health={},
        not_protected=[],
        pid=0,
        heartbeat=0.0,
        reason=None,
    )


def episode_record(
    episode: Episode,
    assignment: Assignment,
    *,
    step: int,
    policy_version: int,
    num_tokens: tuple[int, int],
) -> EpisodeRecord:
    """Return an episode as the record that is written."""
    return EpisodeRecord(
        step=step,
        group=assignment.group_id,
        policy_version=policy_version,
        num_tokens=num_tokens[0],
        num_action_tokens=num_tokens[1],
        **episode_values(episode),
    )


def episode_values(episode: Episode) -> dict[str, Any]:
    """Return what an episode says of itself, as JSON values."""
    return {
        "id": episode.id,
        "task_id": episode.task_id,
        "world": episode.world,
        "arm": episode.arm.value,
        "revision": episode.revision,
        "seed": episode.seed,
        "stop": episode.stop.value,
        "outcome": episode.stop.outcome.value,
        "success": episode.success,
        "reward": round(episode.total_reward, 9),
        "rewards": [
            {"rule": event.rule, "value": round(event.value, 9), "turn": event.turn}
            for event in episode.rewards
        ],
        "metrics": dict(episode.metrics),
        "turns": [_turn(turn) for turn in episode.turns],
        "error": episode.error,
        "side": episode.side.value,
        "pinned_success": episode.pinned_success,
        "judged": [asdict(one) for one in episode.judged],
    }


def _turn(turn: Turn) -> dict[str, Any]:
    told: dict[str, Any] = {
        "speaker": turn.speaker.value,
        "text": turn.text,
        "agent_turn": turn.agent_turn,
    }
    if turn.voice is not None:
        told["voice"] = turn.voice.value
    if turn.revealed:
        told["revealed"] = list(turn.revealed)
    if turn.events:
        told["events"] = list(turn.events)
    if turn.private:
        told["private"] = dict(turn.private)
    return told
