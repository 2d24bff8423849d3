"""No reply is longer than a user may speak, whatever is asked and how often."""

from __future__ import annotations

from trainer.probe.interview import interrogations
from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.subject import Subject, Version

NAME = "reply_length"
MOST_CHARS = 400
"""Characters of a reply that no knob may raise: ColBench's own cap."""


def check(subject: Subject, version: Version) -> Outcome:
    """Look for the longest reply of all interviews.

    Source:
        EAU: the reference answer stood in one reply of 837 characters.
    """
    longest = max(
        interrogations(subject, version), key=lambda one: len(one.reply.text), default=None
    )
    if longest is None:
        return found(0)
    length = len(longest.reply.text)
    limit = min(MOST_CHARS, int(version.user_settings["max_reply_chars"]))
    if length <= limit:
        return found(length)
    return found(
        length,
        [
            finding(
                NAME,
                f"A reply in {longest.task.id} of {subject.name} has {length} characters and tells "
                f"{len(longest.reply.revealed)} facts; the limit is {limit}.",
                "Lower user.facts_per_reply or user.max_reply_chars, or shorten the rule's words.",
                path="user.max_reply_chars",
                value=length,
                limit=limit,
            )
        ],
    )
