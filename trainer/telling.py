"""Telling: which events a step is worth, and the numbers that show trouble.

Everything is computed from values that the loop has anyway; the loop writes it. This module
knows nothing about files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from gate.contract import knobs
from gate.contract.records import StepRecord
from gate.guard import KnobStatus
from trainer.episode import Outcome, StopReason
from trainer.rollout.collect import Rollout

CONSTANT_STEPS = 10
"""Steps with one single reward value after which the run says so."""


class Told(NamedTuple):
    """One event to append."""

    kind: str
    """One of `gate.contract.records.EVENT_KINDS`."""
    detail: Mapping[str, Any]


def in_force(status: KnobStatus) -> dict[str, Any]:
    """Return the fields of `status.json` that say what is in force, and what is not and why."""
    test = status.test
    return {
        "revision": status.revision,
        "world_revision": status.world_revision,
        "refused": [finding.to_json() for finding in status.refused],
        "warnings": [finding.to_json() for finding in (*status.warnings, *status.waiting)],
        "in_force_since": dict(status.since_step),
        "test": test
        and {"number": test.number, "old": test.old.revision, "new": test.new.revision},
    }


def under_way(step: int, status: KnobStatus) -> dict[str, Any]:
    """Return what a step is under that is about to be learnt from, as its record will say it."""
    test = status.test
    return {
        "step": step,
        "revision": status.revision,
        "old_revision": test and test.old.revision,
        "test": test and test.number,
        "new_share": test and test.new_share,
    }


def changes(status: KnobStatus, before: KnobStatus | None, was: int) -> Iterator[Told]:
    """Yield what the knob files, the proposals and the gate brought with a step.

    Args:
        status: What is in force.
        before: The same of the step before; None for the first of a process.
        was: The folder of the worlds that was in force in the step before.
    """
    if status.changed:
        changed = [change.to_json() for change in status.changed]
        yield Told("knob_adopted", {"revision": status.revision, "changes": changed})
    if status.refused and (before is None or before.refused != status.refused):
        unread = [one for one in status.refused if one.rule == knobs.UNREADABLE]
        read = [one for one in status.refused if one.rule != knobs.UNREADABLE]
        for kind, refused in (("knob_vanished", unread), ("knob_refused", read)):
            if refused:
                findings = [finding.to_json() for finding in refused]
                yield Told(kind, {"revision": status.revision, "findings": findings})
    for outcome in status.proposals:
        kind = "proposal_refused" if outcome.revision is None else "proposal_adopted"
        yield Told(kind, {"outcome": outcome.to_json()})
    for test in status.opened:
        yield Told("test_opened", test.to_json())
    for breach in status.breaches:
        yield Told("breach", asdict(breach))
    for verdict in status.verdicts:
        # The event has a step of its own.
        detail = {key: value for key, value in asdict(verdict).items() if key != "step"}
        yield Told("verdict", detail)
    if status.world_revision != was:
        yield Told(
            "world_swapped",
            {"revision": status.revision, "old": was, "new": status.world_revision},
        )


def episodes(record: StepRecord, rollout: Rollout) -> Iterator[Told]:
    """Yield what went wrong with the episodes of a step."""
    for episode in rollout.episodes:
        if episode.stop.outcome is not Outcome.FINISHED:
            yield Told(
                episode.stop.outcome.value,
                {"episode": episode.id, "stop": episode.stop.value, "error": episode.error},
            )
    yield from of_users(rollout)
    if rollout.judging.failed:
        failed = StopReason.JUDGE_UNAVAILABLE
        reasons = (one.error for one in rollout.episodes if one.stop is failed)
        detail = {"questions": rollout.judging.failed, "error": next(reasons, None)}
        yield Told("judge_failed", detail)
    for name, error in rollout.unscored.items():
        yield Told("unscored", {"episode": name, "error": error})
    if not record.updated:
        yield Told("no_update", {"stop_reasons": dict(record.stop_reasons)})


def of_users(rollout: Rollout) -> Iterator[Told]:
    """Yield that users of a step had no answer, once for all its episodes."""
    silent = [one for one in rollout.episodes if one.stop is StopReason.USER_ERROR]
    if silent:
        yield Told("user_failed", {"episodes": len(silent), "error": silent[0].error})


def health(
    record: StepRecord, rewards: Sequence[float | None], sampler: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the numbers that tell trouble.

    Args:
        record: The newest step.
        rewards: Mean rewards of the last `CONSTANT_STEPS` steps that are on file.
        sampler: What the sampler tells of itself, empty where it has nothing to tell.
    """
    return {
        **({"sampler": sampler} if sampler else {}),
        "quarantined_share": round(record.quarantined / max(record.started, 1), 4),
        "constant_reward": len(rewards) == CONSTANT_STEPS and len(set(rewards)) == 1,
        "updated": record.updated,
    }


def constant_reward(record: StepRecord, health: Mapping[str, Any]) -> Iterator[Told]:
    """Yield, now and then, that the reward has not moved for many steps."""
    if health["constant_reward"] and record.step % CONSTANT_STEPS == 0:
        yield Told("constant_reward", {"value": record.reward, "steps": CONSTANT_STEPS})


def too_many_faults(count: int, limit: int) -> str:
    """Return why a run in which nothing works any more stops."""
    return (
        f"{count} episodes in a row were quarantined; environment.max_consecutive_faults is "
        f"{limit}: see events.jsonl for their reasons, mend the world or the user, then resume"
    )
