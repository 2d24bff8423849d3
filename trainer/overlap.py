"""Overlap: a step is played while the one before is learnt from.

So it is spoken by the policy from before that update, and learnt from one update late. What is in
force in it is settled before it is played, as ever. Right after a checkpoint nothing overlaps: the
step is played when the checkpoint is written, so a run that goes on from one plays the same words.
This module knows nothing about how an update corrects for its late batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial

from trainer import telling
from trainer.checkpoint import Snapshot
from trainer.playing import Dealt, Played, deal_step, play, reconcile
from trainer.policy.sampler import HoldsWeights
from trainer.run import Run, tell


class Overlap:
    """One thread that plays a step; the thread that it belongs to learns meanwhile."""

    def __init__(self, sampler: HoldsWeights) -> None:
        """Play nothing yet.

        Args:
            sampler: Keeps the weights in force for the dialogues that are played ahead.
        """
        self._sampler = sampler
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rollout")
        self._dealt: Dealt | None = None
        self._played: Future[Played] | None = None

    @property
    def dealt(self) -> Dealt | None:
        """The step that is played ahead, or was and nobody has taken; None without one."""
        return self._dealt

    def begin(self, dealt: Dealt, work: Callable[[], Played]) -> None:
        """Begin to play a step; the learner has not begun to learn."""
        self._sampler.hold([one.episode_id for one in dealt.assignments])
        self._dealt, self._played = dealt, self._thread.submit(work)

    def wait(self) -> None:
        """Return when nobody plays any more, however that went."""
        if self._played is not None:
            wait([self._played])

    def take(self) -> Played | None:
        """Return the step that was played ahead, once; None without one.

        Raises:
            Exception: what playing it raised.
        """
        played, self._dealt, self._played = self._played, None, None
        return None if played is None else played.result()

    def discard(self) -> None:
        """Let go of what was played ahead; nobody plays when this returns."""
        self.wait()
        self._dealt = self._played = None

    def close(self) -> None:
        """End the thread once nobody plays any more."""
        self._thread.shutdown()


def begun(run: Run) -> Dealt | None:
    """Return the step that was played ahead, which is learnt from whatever has come up since."""
    return None if run.overlap is None else run.overlap.dealt


def played(run: Run) -> Played | None:
    """Return what was played ahead, once; None where the step is still to be played."""
    return None if run.overlap is None else run.overlap.take()


def discard(run: Run) -> None:
    """Let go of what was played ahead of a training that has ended."""
    if run.overlap is not None:
        run.overlap.discard()


@contextmanager
def playing_ahead(run: Run, learnt: Dealt, after: Snapshot) -> Iterator[None]:
    """Play the next step for the length of the block, where it may be; it is over with the block.

    Args:
        run: The run; no episode is under way.
        learnt: The step that the block learns from.
        after: The state after that step.
    """
    if run.overlap is None:
        yield
        return
    dealt = _next(run, learnt, after)
    if dealt is not None:
        run.overlap.begin(dealt, partial(play, run, dealt))
    try:
        tell(run, stage="learn")
        yield
    except Exception:
        # Worlds and sampler are about to end: nobody may be left in them.
        run.overlap.discard()
        raise
    run.overlap.wait()


def _next(run: Run, learnt: Dealt, after: Snapshot) -> Dealt | None:
    """Return the step that may be played before its predecessor is learnt from, if it may."""
    step = after.step + 1
    logged = run.log.logged(step)
    if not (_may_follow(run, learnt, after) if logged is None else logged.get("staleness", 0)):
        return None
    if run.log.logged(learnt.step) is None:
        # A run that is killed from here on may have adopted for the next step what this one is
        # not under: it finds here what is being learnt from.
        tell(run, under_way=telling.under_way(learnt.step, learnt.status))
    status = reconcile(run, step, after)
    if run.exhausted is not None or run.ends_with(after):
        return None
    return deal_step(run, status, after)


def _may_follow(run: Run, learnt: Dealt, after: Snapshot) -> bool:
    """Return whether a step may be played right now: no checkpoint, end or outage lies between."""
    most_faults = int(learnt.status.knobs.get("environment.max_consecutive_faults"))
    return not (
        after.step % run.config.checkpoint.every == 0
        or after.faults_in_a_row >= most_faults
        or run.ends_with(after)
        or run.stop_asked()
    )
