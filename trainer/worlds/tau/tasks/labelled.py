"""Dialogues at both desks, and the verdict that a person has put on each."""

from __future__ import annotations

from collections.abc import Sequence

from trainer.task import Task
from trainer.worlds.tau2.case import read_case
from trainer.worlds.tau2.transcripts import Do, Move, Over, Say, Tell, Transcript, Write

_HAND_OVER = (
    '[answer] {"name": "transfer_to_human_agents", "arguments": {"summary": "Wants something."}}'
)


def transcripts(tasks: Sequence[Task]) -> tuple[Transcript, ...]:
    """Return the labelled dialogues.

    Args:
        tasks: Our own, from which one takes what must be said.
    """
    (cancel,) = (one for one in tasks if one.id == "tau-shop-cancel-1")
    (refund,) = read_case(cancel.payload["record"]).communicate
    refunded = f"You get {refund} back."
    return (*_at_the_shop(refunded), *_short_of_it(refunded), *_at_the_airline())


def _at_the_shop(refunded: str) -> tuple[Transcript, ...]:
    known: tuple[Move, ...] = (Tell("F1"), Tell("F3"))
    task = "tau-shop-cancel-1"
    return (
        Transcript(
            "cancelled",
            "The order is cancelled and the refund told.",
            task,
            (*known, Tell("F4"), Do(0), Do(1), Do(2), Say(refunded), Over()),
            1.0,
            {"db": 1.0, "outputs": 1.0, "ended": 1.0},
        ),
        Transcript(
            "nothing_looked_up",
            "Only what is written counts; which way led there does not matter.",
            task,
            (*known, Do(2), Say(refunded), Over()),
            1.0,
            {"db": 1.0},
        ),
        Transcript(
            "cancelled_without_a_word",
            "The refund was to be told.",
            task,
            (*known, Do(2), Say("It is cancelled."), Over()),
            0.0,
            {"db": 1.0, "outputs": 0.0},
        ),
    )


def _short_of_it(refunded: str) -> tuple[Transcript, ...]:
    known: tuple[Move, ...] = (Tell("F1"), Tell("F3"))
    task = "tau-shop-cancel-1"
    return (
        Transcript(
            "only_promised",
            "Saying the right number does not cancel anything.",
            task,
            (*known, Say(refunded), Over()),
            0.0,
            {"db": 0.0, "outputs": 1.0},
        ),
        Transcript(
            "refused_reason",
            "A reason that the tool refuses leaves the order as it was.",
            task,
            (*known, Do(2, {"reason": "too blue"}), Say(refunded), Over()),
            0.0,
            {"db": 0.0, "tool_errors": 1.0},
        ),
        Transcript(
            "left_by_the_agent",
            "An agent that leaves has not brought the dialogue to an end.",
            task,
            (*known, Do(2), Say(refunded), Write("[finish]")),
            0.0,
            {"db": 1.0, "ended": 0.0},
        ),
        Transcript(
            "one_of_two",
            "Both wishes were to be carried out.",
            "tau-shop-payment-and-redirect-1",
            (*known, Do(0), Do(1), Do(2), Say("Paid otherwise."), Over()),
            0.0,
            {"db": 0.0, "ended": 1.0},
        ),
    )


def _at_the_airline() -> tuple[Transcript, ...]:
    task = "tau-trip-cancel-insured-1"
    return (
        Transcript(
            "trip_cancelled",
            "The insured illness is a reason, and the reservation is cancelled.",
            task,
            (Tell("F1"), Tell("F2"), Tell("F3"), Do(0), Do(1), Say("Get well soon."), Over()),
            1.0,
            {"db": 1.0},
        ),
        Transcript(
            "handed_over_when_done",
            "The hand-over ends the dialogue by itself, and what was done counts.",
            task,
            (Tell("F1"), Do(1), Write(_HAND_OVER)),
            1.0,
            {"db": 1.0, "ended": 1.0},
        ),
        Transcript(
            "handed_over_at_once",
            "Handing a customer over does not carry out the wish.",
            task,
            (Write(_HAND_OVER),),
            0.0,
            {"db": 0.0, "ended": 1.0},
        ),
        Transcript(
            "cut_off",
            "A dialogue that nobody ended earns nothing.",
            task,
            (Tell("F1"), Do(1)),
            0.0,
            {"db": 1.0, "ended": 0.0},
        ),
        Transcript(
            "one_bag_too_many",
            "A bag that nobody asked for is a difference.",
            "tau-trip-bags-1",
            (Tell("F1"), Do(2, {"total_baggages": 9}), Over()),
            0.0,
            {"db": 0.0},
        ),
    )
