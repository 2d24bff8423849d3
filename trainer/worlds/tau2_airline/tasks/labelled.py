"""Dialogues at the desk of the airline, and the verdict that a person has put on each."""

from __future__ import annotations

from trainer.worlds.tau2.transcripts import Do, Over, Say, Tell, Transcript

TRANSCRIPTS = (
    Transcript(
        "cancelled",
        "The insured illness is a reason, and the reservation is cancelled.",
        "trip-cancel-insured-1",
        (Tell("F1"), Tell("F2"), Tell("F3"), Do(0), Do(1), Say("Get well soon."), Over()),
        1.0,
        {"db": 1.0, "action": 1.0},
    ),
    Transcript(
        "looked_up_only",
        "Looking at a reservation cancels nothing.",
        "trip-cancel-insured-1",
        (Tell("F1"), Tell("F2"), Do(0), Say("It is cancelled."), Over()),
        0.0,
        {"db": 0.0},
    ),
    Transcript(
        "one_bag_too_many",
        "A bag that nobody asked for is a difference.",
        "trip-bags-1",
        (Tell("F1"), Do(2, {"total_baggages": 9}), Over()),
        0.0,
        {"db": 0.0},
    ),
    Transcript(
        "certificate_unmentioned",
        "The certificate was sent, but its worth was to be said.",
        "trip-certificate-1",
        (Tell("F1"), Do(0), Do(1), Do(2), Say("Something is on its way."), Over()),
        0.0,
        {"db": 1.0, "communicate": 0.0},
    ),
    Transcript(
        "state_told",
        "A question is answered, and nothing is changed.",
        "trip-state-1",
        (Tell("F2"), Do(0), Say("It is Delayed, I am afraid."), Over()),
        1.0,
        {"db": 1.0, "communicate": 1.0},
    ),
    Transcript(
        "cancelled_half_flown",
        "Half flown, it was for a person to cancel.",
        "trip-flown-1",
        (Tell("F1"), Do(0), Say("Done."), Over()),
        0.0,
        {"db": 1.0, "action": 0.0},
    ),
    Transcript(
        "handed_over",
        "The user leaves with the words after the hand-over.",
        "trip-flown-1",
        (Tell("F1"), Do(0), Do(1), Say("PLEASE HOLD ON.")),
        1.0,
        {"action": 1.0, "ended": 1.0},
    ),
)
