"""How many stored verdicts an edited verifier would have given otherwise, each way.

Told and not refused: a verifier that was wrong must be allowed to change its mind. Verdicts that
were mended on purpose are cited, and are left out of the count. What a judge said at the time
counts again; where other questions would be asked, nobody knows, and that is told instead.
"""

from __future__ import annotations

from gate.contract.findings import Finding, Severity
from trainer.probe.judging import Recorded, rejudge
from trainer.probe.outcome import NOTHING, Outcome, finding, found
from trainer.probe.subject import SLACK, Subject, Version

NAME = "stored_verdicts"


def check(subject: Subject, version: Version) -> Outcome:
    """Judge the run's stored episodes by both verifiers."""
    old = subject.old
    if old is None or version is old or not subject.stored or subject.same_files:
        return NOTHING
    tasks = {task.id: task for task in subject.all_tasks}
    cited = {entry.episode for entry in subject.cited}
    asked = [one for one in subject.stored if one.task_id in tasks and one.id not in cited]
    dialogues = [Recorded(tasks[one.task_id], one.turns, one.answers) for one in asked]
    before, after = (rejudge(subject, side, dialogues) for side in (old, version))
    changes = {
        one.id: now.success - then.success
        for one, then, now in zip(asked, before, after, strict=True)
        if then is not None and now is not None
    }
    unknown = [_unknown(subject, after.count(None), len(asked))] if None in after else []
    up = [name for name, change in changes.items() if change > SLACK]
    down = [name for name, change in changes.items() if change < -SLACK]
    judged = len(changes)
    share = (len(up) + len(down)) / max(judged, 1)
    if not up and not down:
        return found(share, unknown)
    return found(
        share,
        [
            *unknown,
            finding(
                NAME,
                f"The verifier of {subject.name} judges {len(up) + len(down)} of {judged} stored "
                f"episodes otherwise: {len(up)} better, as {', '.join(up[:2]) or 'none'}, and "
                f"{len(down)} worse, as {', '.join(down[:2]) or 'none'}.",
                "Read one of each kind before this comes into force.",
                path=f"world.{subject.name}.verifier",
                value={"better": len(up), "worse": len(down)},
                severity=Severity.WARNING,
            ),
        ],
    )


def _unknown(subject: Subject, asks: int, stored: int) -> Finding:
    return finding(
        NAME,
        f"The verifier of {subject.name} would ask a judge what is not on file about {asks} of "
        f"{stored} stored episodes; their verdicts are not known.",
        "Expect questions for every episode to be asked twice: in these words and in the pinned "
        "ones, at twice the cost.",
        path=f"world.{subject.name}.verifier",
        value=asks,
        severity=Severity.WARNING,
    )
