"""Summaries: a step's episodes as the numbers of its record.

Counts are of all episodes. Means are of those under the values in force, so that neither the
anchors nor the old side of a test dilute what those values do; sides and anchors have fields of
their own. This module knows nothing about files or about what the numbers prove.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gate.contract.records import StepRecord
from gate.contract.sides import Side
from gate.guard import Condition, KnobStatus
from trainer import conversation
from trainer.episode import Episode, Outcome
from trainer.ppo.learner import UpdateStats
from trainer.rollout.collect import Rollout

_IN_FORCE = (Side.IN_FORCE, Side.NEW)
"""Sides that play under the values in force."""
_TESTED = (Side.OLD, Side.NEW)


def step_record(
    step: int,
    status: KnobStatus,
    rollout: Rollout,
    stats: UpdateStats | None,
    *,
    conditions: Mapping[Side, Condition],
    policy_version: int,
    staleness: int = 0,
    params_digest: str,
    step_s: float,
    now: float,
    endpoint: Mapping[str, float] | None = None,
    judge: Mapping[str, float] | None = None,
) -> StepRecord:
    """Return the record of a step.

    Args:
        step: Its number.
        status: What was in force.
        rollout: What was played.
        stats: What the update measured; None if there was none.
        conditions: What each side played under.
        policy_version: The version that spoke.
        staleness: Updates between it and the version that learnt from it.
        params_digest: Digest of the parameters after the step.
        step_s: Seconds that the step took.
        now: Seconds since 1970.
        endpoint: What the step asked of the user's endpoint; None without one.
        judge: What it asked of the judge; None where rules decide.
    """
    spent, test = rollout.timings, status.test
    return StepRecord(
        step=step,
        revision=status.revision,
        knobs_digest=status.knobs.digest,
        world_revision=status.world_revision,
        old_revision=test.old.revision if test else None,
        test=test.number if test else None,
        new_share=test.new_share if test else None,
        policy_version=policy_version,
        **summarise(rollout, conditions),
        learner=dict(stats.metrics) if stats else {},
        staleness=staleness,
        updated=stats is not None,
        params_digest=params_digest,
        endpoint=endpoint or {},
        judge=judge or {},
        rollout_s=round(spent.get("rollout", 0.0), 4),
        sample_s=round(spent.get("sample", 0.0), 4),
        world_s=round(spent.get("world", 0.0), 4),
        user_s=round(spent.get("user", 0.0), 4),
        score_s=round(stats.score_s, 4) if stats else 0.0,
        learn_s=round(stats.learn_s, 4) if stats else 0.0,
        step_s=round(step_s, 4),
        time=round(now, 3),
    )


def summarise(rollout: Rollout, conditions: Mapping[Side, Condition]) -> dict[str, Any]:
    """Return the fields of a step's record that tell about its episodes."""
    episodes = rollout.episodes
    outcomes = [one.stop.outcome for one in episodes]
    return {
        "started": len(episodes),
        "finished": outcomes.count(Outcome.FINISHED),
        "quarantined": outcomes.count(Outcome.QUARANTINED),
        "dropped": outcomes.count(Outcome.DROPPED),
        "stop_reasons": _count([one.stop.value for one in episodes]),
        "action_tokens": action_tokens(rollout),
        "total_tokens": sum(length for length, _ in rollout.num_tokens.values()),
        "by_side": _by_side(episodes, conditions),
        **_in_force([one for one in episodes if one.side in _IN_FORCE]),
        **_sides([one for one in episodes if one.stop.outcome is Outcome.FINISHED]),
    }


def _in_force(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Return what the values in force led to."""
    finished = [one for one in episodes if one.stop.outcome is Outcome.FINISHED]
    by_arm = _group([(one.arm.value, one) for one in finished])
    by_world = _group([(one.world, one) for one in finished])
    task = [_paid(one, "task") for one in finished]
    total = [one.total_reward for one in finished]
    revealed = [float(sum(len(turn.revealed) for turn in one.turns)) for one in finished]
    replies = [len(turn.text) for one in episodes for turn in one.turns if turn.voice is not None]
    pinned = {arm: _pinned(group) for arm, group in by_arm.items()}
    return {
        "success": _mean([one.success for one in finished if one.success is not None]),
        "success_by_arm": {arm: _success(group) for arm, group in by_arm.items()},
        "episodes_by_arm": {arm: len(group) for arm, group in by_arm.items()},
        "pinned_success": _pinned(finished),
        "pinned_success_by_arm": {arm: mean for arm, mean in pinned.items() if mean is not None},
        "success_by_world": {world: _success(group) for world, group in by_world.items()},
        "reward": _mean(total),
        "task_reward": _mean(task),
        "shaping_reward": _mean([whole - part for whole, part in zip(total, task, strict=True)]),
        "reward_by_rule": _by_rule(finished),
        "episodes_by_world": {world: len(group) for world, group in by_world.items()},
        "metrics": _metrics(finished),
        "conversation": conversation.measure(finished),
        "agent_turns": _mean([float(one.num_agent_turns) for one in finished]),
        "facts_revealed": _mean(revealed),
        "max_reply_chars": max(replies, default=0),
    }


def _sides(finished: Sequence[Episode]) -> dict[str, Any]:
    """Return what a test's two sides and the anchors show, by the verifier of revision 0."""
    tested = {
        side.value: [one for one in finished if one.side is side and one.pinned_success is not None]
        for side in _TESTED
    }
    return {
        "sides": {
            side: {
                arm: {"success": _pinned(group), "episodes": len(group)}
                for arm, group in _group([(one.arm.value, one) for one in played]).items()
            }
            for side, played in tested.items()
            if played
        },
        "anchor_success": anchor_success(finished),
        "anchor_episodes": len(_anchors(finished)),
    }


def anchor_success(episodes: Sequence[Episode]) -> float | None:
    """Return the mean success of the anchors among some episodes; None without any."""
    return _pinned(_anchors(episodes))


def action_tokens(rollout: Rollout) -> int:
    """Return the tokens that the policy wrote."""
    return sum(written for _, written in rollout.num_tokens.values())


def _anchors(episodes: Sequence[Episode]) -> list[Episode]:
    finished = [one for one in episodes if one.stop.outcome is Outcome.FINISHED]
    return [one for one in finished if one.side is Side.ANCHOR]


def _by_side(
    episodes: Sequence[Episode], conditions: Mapping[Side, Condition]
) -> dict[str, dict[str, int]]:
    """Return how many episodes broke on each side, and under which revisions."""
    return {
        side: {
            "revision": conditions[Side(side)].revision,
            "world_revision": conditions[Side(side)].world_revision,
            "started": len(group),
            "quarantined": sum(one.stop.outcome is Outcome.QUARANTINED for one in group),
        }
        for side, group in _group([(one.side.value, one) for one in episodes]).items()
    }


def _pinned(episodes: Sequence[Episode]) -> float | None:
    return _mean([one.pinned_success for one in episodes if one.pinned_success is not None])


def _paid(episode: Episode, rule: str) -> float:
    return sum(event.value for event in episode.rewards if event.rule == rule)


def _by_rule(episodes: Sequence[Episode]) -> dict[str, float]:
    rules = sorted({event.rule for one in episodes for event in one.rewards})
    means = {rule: _mean([_paid(one, rule) for one in episodes]) for rule in rules}
    return {rule: mean for rule, mean in means.items() if mean is not None}


def _metrics(episodes: Sequence[Episode]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for episode in episodes:
        for name, value in episode.metrics.items():
            values.setdefault(f"{episode.world}.{name}", []).append(value)
    return {name: round(sum(all_) / len(all_), 9) for name, all_ in sorted(values.items())}


def _success(episodes: Sequence[Episode]) -> float:
    return _mean([one.success for one in episodes if one.success is not None]) or 0.0


def _group(pairs: Sequence[tuple[str, Episode]]) -> dict[str, list[Episode]]:
    groups: dict[str, list[Episode]] = {}
    for label, episode in sorted(pairs, key=lambda pair: pair[0]):
        groups.setdefault(label, []).append(episode)
    return groups


def _count(labels: Sequence[str]) -> dict[str, int]:
    return {label: labels.count(label) for label in sorted(set(labels))}


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 9) if values else None
