"""The training loop: one step of PPO under the knobs in force, and what a run does between steps.

It reads like the paper: reconcile, roll out, learn, record. Everything it touches is passed in
as a `Run`; it knows nothing about how a run is launched or resumed.
"""

from __future__ import annotations

from typing import Any

from gate.contract.knobs import Knobs
from gate.contract.records import StepRecord
from gate.guard import KnobStatus
from trainer import overlap, runlog, telling
from trainer.checkpoint import Snapshot
from trainer.playing import Played, deal_step, play, reconcile, state_after
from trainer.policy.sampler import SamplerFault
from trainer.ppo.learner import LearnSettings, UpdateStats
from trainer.rollout.collect import Rollout
from trainer.run import Ending, Run, append, close, event, save, tell, with_room
from trainer.summary import step_record
from trainer.telling import Told


def train(run: Run) -> Ending:
    """Train until the last step; every way out leaves a checkpoint or the last good one."""
    overlap.discard(run)
    limit = None
    while not run.stop_asked():
        ahead = overlap.begun(run)
        # The end is a knob too: the files are looked at before it is believed.
        status = ahead.status if ahead else reconcile(run, run.snapshot.step + 1)
        if ahead is None:
            if (spent := run.exhausted) is not None:
                save(run)
                return close(run, Ending.STOPPED, spent)
            # Another revision may have taken back what broke everything.
            if limit is not None and status.revision == run.snapshot.revision:
                save(run)
                reason = telling.too_many_faults(run.snapshot.faults_in_a_row, limit)
                return close(run, Ending.FAILED, reason)
            if run.is_over:
                break
        try:
            run.snapshot = train_step(run, status)
        except FloatingPointError as error:
            event(run, "update_failed", run.snapshot.step + 1, reason=str(error))
            return close(run, Ending.FAILED, str(error))
        except SamplerFault as error:
            append(run, run.snapshot.step + 1, _incidents(run))
            return close(run, Ending.FAILED, str(error))
        allowed = int(status.knobs.get("environment.max_consecutive_faults"))
        limit = allowed if run.snapshot.faults_in_a_row >= allowed else None
        if run.snapshot.step % run.config.checkpoint.every == 0:
            save(run)
    save(run)
    shortened = run.snapshot.step < run.config.total_steps and not run.has_spent_its_tokens
    return close(run, Ending.STOPPED if shortened else Ending.FINISHED)


def train_step(run: Run, status: KnobStatus) -> Snapshot:
    """One step of PPO under the knobs in force; returns the state after it."""
    began = run.clock()
    played = overlap.played(run) or roll_out(run, status)
    dealt, after = played.dealt, state_after(run.snapshot, played)
    tell(run, stage="learn", **_spent_so_far(run))
    version = run.learner.policy_version
    with overlap.playing_ahead(run, dealt, after):
        stats = improve(run, played.rollout, status.knobs)
    run.scene.sampler.sync(run.learner.policy_version)
    record = step_record(
        dealt.step,
        status,
        played.rollout,
        stats,
        conditions=dealt.conditions,
        policy_version=dealt.policy_version,
        staleness=version - dealt.policy_version,
        params_digest=run.learner.fingerprint(),
        step_s=run.clock() - began,
        now=run.now(),
        endpoint=run.meter.told(played.spent) if run.meter and played.spent else None,
        judge=_judging(run, played.rollout),
    )
    write(run, record, played)
    return after


def roll_out(run: Run, status: KnobStatus) -> Played:
    """Play the next step now, under the weights that will learn from it."""
    dealt = deal_step(run, status, run.snapshot)
    tell(run, stage="rollout")
    return play(run, dealt)


def _spent_so_far(run: Run) -> dict[str, Any]:
    """Return the fields of `status.json` that tell what user and judge cost."""
    meters = {"endpoint": run.meter, "judge": run.judge_meter}
    return {name: one.told(one.total) for name, one in meters.items() if one is not None}


def _judging(run: Run, rollout: Rollout) -> dict[str, float] | None:
    """Return what a step asked of the judge, as its record tells it; None where rules decide."""
    if run.judge_meter is None:
        return None
    asked = rollout.judging
    return {
        "asked": asked.asked,
        "repeated": asked.repeated,
        "failed": asked.failed,
        "pinned": asked.pinned,
        "seconds": asked.seconds,
        **run.judge_meter.told(asked.spent),
    }


def improve(run: Run, rollout: Rollout, knobs: Knobs) -> UpdateStats | None:
    """Learn from the finished episodes; None when there is none."""
    if not rollout.trajectories:
        return None
    agent = knobs.file("agent")
    names = LearnSettings.__dataclass_fields__
    settings = LearnSettings(**{name: agent[name] for name in names if name in agent})
    return run.learner.step(rollout.trajectories, settings)


def write(run: Run, record: StepRecord, played: Played) -> None:
    """Put a step on file, or compare a replayed one with what is on file."""
    rollout, dealt = played.rollout, played.dealt
    replayed = run.log.logged(record.step) is not None
    episodes = [
        runlog.episode_record(
            episode,
            assignment,
            step=record.step,
            policy_version=record.policy_version,
            num_tokens=rollout.num_tokens[episode.id],
        )
        for episode, assignment in zip(rollout.episodes, dealt.assignments, strict=True)
    ]
    different = with_room(run, lambda: run.log.step(record, episodes))
    if different:
        event(run, "resume_difference", record.step, fields=different, winner="replay")
    sampler, rewards = run.scene.sampler, run.log.rewards(telling.CONSTANT_STEPS, upto=record.step)
    health = telling.health(record, rewards, sampler.health())
    append(run, record.step, _incidents(run))
    if not replayed:
        append(run, record.step, telling.episodes(record, rollout))
        append(run, record.step, telling.constant_reward(record, health))
    newest = max(record.step, run.log.last_step)
    tell(run, stage="recorded", step=newest, health=health)
    run.watcher(record, dealt.status)


def _incidents(run: Run) -> list[Told]:
    return [Told(*incident) for incident in run.scene.sampler.incidents()]
