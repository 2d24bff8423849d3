"""Dialogues at the desk of the shop, and the verdict that a person has put on each."""

from __future__ import annotations

from trainer.worlds.tau2.transcripts import Do, Move, Over, Say, Tell, Transcript


def transcripts(swapped: dict[str, list[str]], refund: str) -> tuple[Transcript, ...]:
    """Return the labelled dialogues.

    Args:
        swapped: Arguments of `shop-change-two-1` with the items named the other way round.
        refund: What `shop-cancel-1` refunds.
    """
    known: tuple[Move, ...] = (Tell("F1"), Tell("F3"))
    return (
        Transcript(
            "cancelled",
            "The order is cancelled and the refund told.",
            "shop-cancel-1",
            (*known, Tell("F4"), Do(0), Do(1), Do(2), Say(f"You get {refund} back."), Over()),
            1.0,
            {"db": 1.0, "communicate": 1.0, "nl_unjudged": 0.0},
        ),
        Transcript(
            "cancelled_without_a_word",
            "The refund was to be told.",
            "shop-cancel-1",
            (*known, Do(0), Do(2), Say("It is cancelled."), Over()),
            0.0,
            {"db": 1.0, "communicate": 0.0},
        ),
        Transcript(
            "only_promised",
            "Saying the right number does not cancel anything.",
            "shop-cancel-1",
            (*known, Say(f"You get {refund} back."), Over()),
            0.0,
            {"db": 0.0, "communicate": 1.0},
        ),
        Transcript(
            "refused_reason",
            "A reason that the tool refuses leaves the order as it was.",
            "shop-cancel-1",
            (*known, Do(2, {"reason": "too blue"}), Say(f"You get {refund} back."), Over()),
            0.0,
            {"db": 0.0, "tool_errors": 1.0},
        ),
        Transcript(
            "items_in_another_order",
            "Each item takes its own replacement, in whatever order they are named.",
            "shop-change-two-1",
            (*known, Do(0), Do(1), Do(2, swapped), Say("Changed."), Over()),
            1.0,
            {"db": 1.0},
        ),
        Transcript(
            "handed_over",
            "What no tool can do is for a person.",
            "shop-beyond-1",
            (*known, Do(0), Do(1), Do(2), Say("PLEASE HOLD ON."), Over()),
            1.0,
            {"action": 1.0},
        ),
        Transcript(
            "cut_off",
            "A dialogue that nobody ended earns nothing.",
            "shop-move-1",
            (Tell("F1"), Do(0), Do(1)),
            0.0,
            {"db": 1.0, "ended": 0.0},
        ),
    )
