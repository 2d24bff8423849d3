"""Judging: the verifier's word on every dialogue that finished, and that of revision 0.

Success is computed by the very verifier that an edit may have made laxer, so each episode is
also judged by the verifier of revision 0, from its recorded turns alone and in a process of that
revision. Where a verifier fails there is no verdict, which is not a zero. What it asks of a judge
in the words of the verifier in force has been answered; only other words are asked anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainer import seeds
from trainer.episode import Outcome
from trainer.rollout.asking import settle
from trainer.rollout.dialogue import Dialogue
from trainer.rollout.scene import Performance
from trainer.worlds.calls import Call, Fault, Judge, Rejudge
from trainer.worlds.seam import Verdict

PINNED = 0
"""The revision of the worlds whose verifier an edit cannot reach."""


def judge(dialogues: Sequence[Dialogue], performance: Performance) -> None:
    """Ask the worlds in force for the verdict on every dialogue that finished."""
    ended = _finished(dialogues)
    calls: dict[str, Call] = {one.key: Judge() for one in ended}
    verdicts = performance.call(
        ended, calls, lambda one: performance.limit_s(one, "drain_deadline_s")
    )
    for dialogue in ended:
        verdict = verdicts[dialogue.key]
        if isinstance(verdict, Verdict):
            dialogue.judge(verdict)
        elif isinstance(verdict, Fault):
            # The verifier failed: the ending is unknown, so the episode is not a failure.
            dialogue.stop, dialogue.error = verdict.stop, verdict.detail


def rescore(dialogues: Sequence[Dialogue], performance: Performance) -> dict[str, str]:
    """Note the pinned verdict on every dialogue that was judged.

    Returns:
        By key, why revision 0's verifier had no word on a dialogue.
    """
    elsewhere: list[Dialogue] = []
    for dialogue in _finished(dialogues):
        if performance.condition(dialogue).world_revision != PINNED:
            elsewhere.append(dialogue)
        elif dialogue.verdict is not None:
            dialogue.pinned_success = dialogue.verdict.success
    faults: dict[str, str] = {}
    by_deadline: dict[float, list[Dialogue]] = {}
    for dialogue in elsewhere:
        seconds = performance.limit_s(dialogue, "drain_deadline_s")
        by_deadline.setdefault(seconds, []).append(dialogue)
    for seconds, batch in by_deadline.items():
        faults |= _rejudge(batch, performance, seconds)
    return faults


def _rejudge(
    batch: Sequence[Dialogue], performance: Performance, deadline_s: float
) -> dict[str, str]:
    worlds = performance.scene.places.at(PINNED).worlds
    faults: dict[str, str] = {}
    try:
        for one in batch:
            worlds.open(
                one.key,
                one.assignment.task,
                settings=performance.settings(one),
                seed=seeds.derive(one.assignment.seed, "world"),
            )
        calls: dict[str, Call] = {
            one.key: Rejudge(tuple(one.turns), dict(one.answers)) for one in batch
        }
        verdicts = settle(
            calls,
            {one.key: one for one in batch},
            lambda asked: worlds.call(asked, deadline_s=deadline_s),
            performance.sitting,
            pinned=True,
        )
    finally:
        worlds.close([one.key for one in batch])
    for dialogue in batch:
        verdict = verdicts[dialogue.key]
        if isinstance(verdict, Verdict):
            dialogue.pinned_success = verdict.success
        elif isinstance(verdict, Fault):
            faults[dialogue.key] = f"{verdict.stop}: {verdict.detail}"
    return faults


def _finished(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    return [
        one for one in dialogues if one.stop is not None and one.stop.outcome is Outcome.FINISHED
    ]
