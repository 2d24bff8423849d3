"""A verdict that a proposal calls false is mended by it: the cited episode is judged as it says."""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding
from trainer.probe.judging import Recorded, rejudge
from trainer.probe.outcome import NOTHING, Outcome, finding, found
from trainer.probe.subject import SLACK, Subject, Version

NAME = "false_verdicts"


def check(subject: Subject, version: Version) -> Outcome:
    """Put the cited episodes to the candidate's verifier."""
    if not subject.cited or version is subject.old:
        return NOTHING
    findings = list(_findings(subject, version))
    return found(len(findings) / len(subject.cited), findings)


def _findings(subject: Subject, version: Version) -> Iterator[Finding]:
    stored = {one.id: one for one in subject.stored}
    tasks = {task.id: task for task in subject.all_tasks}
    for episode_id, should_be in subject.cited:
        one = stored.get(episode_id)
        if one is None or one.task_id not in tasks:
            yield finding(
                NAME,
                f"The cited episode {episode_id[:20]} of {subject.name} is not among the newest "
                f"{len(stored)} stored ones.",
                "Cite an episode of this run that finished, by its id.",
                path="false_verdicts",
                value=episode_id[:20],
            )
            continue
        (verdict,) = rejudge(
            subject, version, [Recorded(tasks[one.task_id], one.turns, one.answers)]
        )
        if verdict is None:
            yield finding(
                NAME,
                f"The verifier of {subject.name} asks a judge about the cited episode {episode_id} "
                "what no judge has answered, so nothing shows that it is mended.",
                "Keep the questions as they are, or have a person judge the change.",
                path="false_verdicts",
                value=episode_id,
            )
            continue
        given = verdict.success
        if abs(given - should_be) > SLACK:
            yield finding(
                NAME,
                f"The verifier of {subject.name} gives the cited episode {episode_id} a success of "
                f"{given:.3g}; the proposal says {should_be:.3g}.",
                "Mend the verifier until it judges the cited episode so.",
                path="false_verdicts",
                value=given,
                limit=should_be,
            )
