"""The questions that a user wants first leave turns enough to do something with the answers."""

from __future__ import annotations

from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.subject import Subject, Version

NAME = "deadlock"
MOST_SHARE = 0.5
"""Share of the turns of an episode that may have to be questions."""


def check(subject: Subject, version: Version) -> Outcome:
    """Compare `min_questions` with the turns that there are.

    Source:
        EAU: a requirement that could not be met deadlocked 41% of the episodes.
    """
    wanted, turns = int(version.user_settings["min_questions"]), version.max_steps
    share = wanted / turns
    if share <= MOST_SHARE:
        return found(share)
    return found(
        share,
        [
            finding(
                NAME,
                f"user.min_questions {wanted} is more than half of the {turns} turns of an episode "
                f"in {subject.name}: answers would come too late.",
                f"Set user.min_questions to at most {int(turns * MOST_SHARE)}, or raise "
                "environment.max_steps.",
                path="user.min_questions",
                value=wanted,
                limit=int(turns * MOST_SHARE),
            )
        ],
    )
