"""No fact is told more often in a dialogue than `max_reveals` says, repeats included.

Counted in the words of the replies as well, so an engine or a rule that tells without counting is
found out.
"""

from __future__ import annotations

from collections import Counter

from trainer.probe.interview import interrogations
from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.spoken import facts_in
from trainer.probe.subject import Subject, Version

NAME = "repeats"


def check(subject: Subject, version: Version) -> Outcome:
    """Ask for the same facts again and again, and count.

    Source:
        EAU: max_reveals did not bound repeats.
    """
    limit = int(version.user_settings["max_reveals"])
    counts: Counter[tuple[int, str, str]] = Counter()
    dialogue = -1
    for one in interrogations(subject, version):
        dialogue += one.before.num_replies == 0
        counts.update((dialogue, one.task.id, fact) for fact in facts_in(one.task, one.reply))
    if not counts:
        return found(0)
    (_, task_id, fact_id), most = counts.most_common(1)[0]
    if most <= limit:
        return found(0)
    return found(
        most - limit,
        [
            finding(
                NAME,
                f"The fact {fact_id} of {task_id} in {subject.name} is told {most} times in one "
                f"dialogue; user.max_reveals allows {limit}, repeats included.",
                "Count every disclosure of a fact, also when it is asked for again.",
                path="user.max_reveals",
                value=most,
                limit=limit,
            )
        ],
    )
