"""How many stored verdicts an edited verifier would have given otherwise, each way.

Told and not refused: a verifier that was wrong must be allowed to change its mind. Verdicts that
were mended on purpose are cited, and are left out of the count.
"""

from __future__ import annotations

from gate.contract.findings import Severity
from trainer.probe.judging import rejudge
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
    dialogues = [(tasks[one.task_id], one.turns) for one in asked]
    before, after = (rejudge(subject, side, dialogues) for side in (old, version))
    changes = {
        one.id: now.success - then.success
        for one, then, now in zip(asked, before, after, strict=True)
    }
    up = [name for name, change in changes.items() if change > SLACK]
    down = [name for name, change in changes.items() if change < -SLACK]
    judged = len(asked)
    share = (len(up) + len(down)) / max(judged, 1)
    if not up and not down:
        return found(share)
    return found(
        share,
        [
            finding(
                NAME,
                f"The verifier of {subject.name} judges {len(up) + len(down)} of {judged} stored "
                f"episodes otherwise: {len(up)} better, as {', '.join(up[:2]) or 'none'}, and "
                f"{len(down)} worse, as {', '.join(down[:2]) or 'none'}.",
                "Read one of each kind before this comes into force.",
                path=f"world.{subject.name}.verifier",
                value={"better": len(up), "worse": len(down)},
                severity=Severity.WARNING,
            )
        ],
    )
