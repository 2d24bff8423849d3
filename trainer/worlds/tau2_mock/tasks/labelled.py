"""Dialogues at the desk of the task list, and the verdict that a person has put on each."""

from __future__ import annotations

from trainer.worlds.tau2.transcripts import Do, Over, Say, Tell, Transcript

TRANSCRIPTS = (
    Transcript(
        "created",
        "The task is there as it was asked for, and the user left content.",
        "list-create-1",
        (Tell("F1"), Tell("F2"), Do(0), Say("It is on the list."), Over()),
        1.0,
        {"db": 1.0, "ended": 1.0, "facts_learnt": 1.0},
    ),
    Transcript(
        "created_and_left_waiting",
        "All is done, but the dialogue never ended.",
        "list-create-1",
        (Do(0), Say("It is on the list.")),
        0.0,
        {"db": 1.0, "ended": 0.0},
    ),
    Transcript(
        "embellished",
        "A description that nobody gave is a difference.",
        "list-create-2",
        (Do(0, {"description": "Made with care"}), Over()),
        0.0,
        {"db": 0.0, "db_changes": 1.0},
    ),
    Transcript(
        "created_twice",
        "One task too many is no success.",
        "list-describe-1",
        (Do(0), Do(0), Over()),
        0.0,
        {"db": 0.0},
    ),
    Transcript(
        "dismissed",
        "The user's own tool is part of the end, and it can be reached.",
        "list-notice-1",
        (Tell("F1"), Do(0), Tell("F2"), Over()),
        1.0,
        {"db": 1.0, "env_assertion": 1.0, "action": 1.0},
    ),
    Transcript(
        "still_unread",
        "The list is right, but the notice was never dismissed.",
        "list-notice-1",
        (Tell("F1"), Do(0), Over()),
        0.0,
        {"db": 0.0, "env_assertion": 0.0, "action": 0.0},
    ),
    Transcript(
        "handed_over",
        "Deleting is for a person: any summary will do.",
        "list-delete-1",
        (Tell("F1"), Do(0, {"summary": "wants it gone"}), Say("Please hold on."), Over()),
        1.0,
        {"action": 1.0},
    ),
    Transcript(
        "only_talked",
        "Nothing was changed, which is right, but nobody was handed over.",
        "list-delete-1",
        (Tell("F1"), Say("That is not possible."), Over()),
        0.0,
        {"db": 1.0, "action": 0.0},
    ),
)
