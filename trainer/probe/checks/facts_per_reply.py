"""No reply tells more facts than the knob allows, by its own word or in its text."""

from __future__ import annotations

from trainer.probe.interview import interrogations
from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.spoken import facts_in
from trainer.probe.subject import Subject, Version

NAME = "facts_per_reply"


def check(subject: Subject, version: Version) -> Outcome:
    """Count the facts in every reply of all interviews.

    Source:
        EAU: facts_per_reply raised from 1 to 3.
    """
    limit = int(version.user_settings["facts_per_reply"])
    most, where = 0, None
    for one in interrogations(subject, version):
        told = len(facts_in(one.task, one.reply))
        if told > most:
            most, where = told, one
    excess = max(0, most - limit)
    if where is None or not excess:
        return found(excess)
    return found(
        excess,
        [
            finding(
                NAME,
                f"A reply in {where.task.id} of {subject.name} tells {most} facts; "
                f"user.facts_per_reply allows {limit}.",
                f"Look at the words of the rule {where.reply.rule!r} in user.yaml.",
                path="user.facts_per_reply",
                value=most,
                limit=limit,
            )
        ],
    )
