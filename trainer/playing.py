"""Playing: the episodes of one step, under what is in force in it.

First what is in force is settled, then the episodes are dealt, each group on a side and by the mix
of that side, then they are played. What a step is played under is what it is learnt under. This
module knows nothing about what is learnt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gate.contract.sides import Side
from gate.guard import Condition, KnobStatus
from trainer import planted, summary, telling
from trainer.checkpoint import Snapshot
from trainer.episode import Episode, Outcome
from trainer.rollout import sides
from trainer.rollout.collect import Rollout
from trainer.rollout.schedule import Assignment, TaskCursor, deal
from trainer.run import Run, append, tell, with_room
from trainer.telling import Told
from trainer.users.spending import Spent

HISTORY_STEPS = 120
"""Steps whose anchors the difficulty rule may look back on: it wants twenty that had any."""


@dataclass(frozen=True)
class Dealt:
    """A step that is ready to be played."""

    step: int
    status: KnobStatus
    """What is in force, in play and in the update."""
    conditions: Mapping[Side, Condition]
    """What each side plays under."""
    assignments: tuple[Assignment, ...]
    cursor: TaskCursor
    """The tasks drawn, those of this step included."""
    policy_version: int
    """The version that will speak."""


@dataclass(frozen=True)
class Played:
    """A step that was played."""

    dealt: Dealt
    rollout: Rollout
    spent: Spent | None
    """What the users' endpoint was asked for it; None without one."""


def reconcile(run: Run, step: int, before: Snapshot | None = None) -> KnobStatus:
    """Return what is in force in a step: as recorded if it is replayed, else as on disk.

    Args:
        run: The run.
        step: The step about to be played.
        before: The state before it, where that is not the run's yet.
    """
    before = before or run.snapshot
    settled = run.log.logged(step) or run.log.under_way(step)
    if settled is not None:
        status = run.live.replay(settled)
    else:
        plant(run, step)
        run.wait(run.snapshot.step, run.stop_asked)
        status = run.live.reconcile(step, success_history=before.anchor_success, now=run.now())
    tell(
        run,
        phase="training",
        stage="knobs" if settled is None else "replay",
        step=max(run.snapshot.step, run.log.last_step),
        reason=None,
        total_steps=run.total_steps,
        **telling.in_force(status),
    )
    if settled is None:
        append(run, step, telling.changes(status, run.last_status, _world_before(run, step)))
    run.last_status = status
    return status


def _world_before(run: Run, step: int) -> int:
    """Return the folder of the worlds that was in force before a step."""
    if run.last_status is not None:
        return run.last_status.world_revision
    return (run.log.logged(step - 1) or {}).get("world_revision", 0)


def plant(run: Run, step: int) -> None:
    """Bring the fault that the recipe planned for a step into force, if there is one."""
    told: list[str] = []
    worlds = tuple(run.config.worlds)
    with_room(
        run,
        lambda: planted.due(
            run.config.plant, run.paths, worlds=worlds, step=step, now=run.now(), told=told.append
        ),
    )
    append(run, step, [Told("fault_planted", {"said": said}) for said in told])


def deal_step(run: Run, status: KnobStatus, before: Snapshot) -> Dealt:
    """Return the episodes of a step and open the worlds that they are played in.

    Args:
        run: The run; no episode is under way.
        status: What is in force in the step.
        before: The state before it.
    """
    step, rollout = before.step + 1, run.config.rollout
    playing = sides.conditions(status, anchor=run.live.condition(0))
    drawn = sides.draw(
        rollout.dialogues_per_step // rollout.group_size,
        step=step,
        seed=run.config.seed,
        anchor_share=rollout.anchor_share,
        new_share=status.test.new_share if status.test else None,
    )
    usual = {world: setting.weight for world, setting in run.config.worlds.items()}
    assignments, cursor = deal(
        run.tasks,
        before.cursor,
        step=step,
        group_size=rollout.group_size,
        sides=drawn,
        mixes=sides.mixes(playing, usual),
        seed=run.config.seed,
    )
    # A step that is played again asks no judge what its record holds.
    said = run.log.answers(step) if run.judge_meter is not None else {}
    assignments = tuple(
        replace(one, answers=said[one.episode_id]) if said.get(one.episode_id) else one
        for one in assignments
    )
    # A new revision of the worlds means new workers, here and nowhere else.
    run.scene.places.keep({condition.world_revision for condition in playing.values()})
    return Dealt(step, status, playing, assignments, cursor, run.learner.policy_version)


def play(run: Run, dealt: Dealt) -> Played:
    """Play a step's episodes to their end; another thread than the run's may do so."""
    before = run.meter.total if run.meter else None
    rollout = run.collect(dealt.assignments, run.scene, conditions=dealt.conditions)
    spent = run.meter.total.minus(before) if run.meter and before else None
    if run.judge_meter is not None:
        run.judge_meter.add(rollout.judging.elsewhere)
    return Played(dealt, rollout, spent)


def state_after(before: Snapshot, played: Played) -> Snapshot:
    """Return the state after a step, which nothing that is learnt from it changes."""
    rollout, dealt = played.rollout, played.dealt
    anchors = (*before.anchor_success, summary.anchor_success(rollout.episodes))
    return Snapshot(
        dealt.step,
        dealt.status.revision,
        dealt.cursor,
        anchors[-HISTORY_STEPS:],
        count_faults(before.faults_in_a_row, rollout.episodes),
        before.action_tokens + summary.action_tokens(rollout),
    )


def count_faults(before: int, episodes: Sequence[Episode]) -> int:
    """Return how many episodes up to the newest were quarantined without a break."""
    count = before
    for episode in episodes:
        count = count + 1 if episode.stop.outcome is Outcome.QUARANTINED else 0
    return count
