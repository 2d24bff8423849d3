"""Every failed episode is put on one party, with the turn that shows it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from skill.diagnosis import blame
from skill.diagnosis.dialogue import Dialogue
from skill.diagnosis.symptoms import Party
from tests.skill.recorded import agent, episode, failure, mixed, tool, user

REFUSED = "Please ask me more first."
STALLED = [
    turn
    for at in range(3)
    for turn in (agent(f"Is it {at}?", at), user(REFUSED, at, act="ask", match="open"))
]
REPEATING = [
    turn
    for at in range(3)
    for turn in (agent("Is it so?", at), user(REFUSED, at, act="ask", match="open"))
]
TOLD_BEFORE = [
    turn
    for at in range(3)
    for turn in (agent(f"Which {at}?", at), user("I told you.", at, act="ask", match="spent"))
]
SHUT = [
    turn
    for at in range(2)
    for turn in (
        agent("Which one?", at),
        user("I told you.", at, act="ask", match="spent"),
        agent("It is X.", at),
        user(REFUSED, at, act="answer", strategy="challenge_solution"),
    )
]
GAINING = [t for at in range(4) for t in (agent(f"Q{at}?", at), user("Yes.", at, f"P{at}"))]
IDLE = [agent("Which?", 0), user("Red.", 0, "P1"), *(agent("hm", at) for at in range(1, 6))]

CASES: Mapping[str, tuple[dict, Party, str, int | None]] = {
    "world raised": (
        failure(1, stop="world_error", outcome="quarantined"),
        Party.ENVIRONMENT,
        "world_error",
        4,
    ),
    "process died": (
        failure(1, stop="world_died", outcome="quarantined"),
        Party.INFRASTRUCTURE,
        "world_died",
        4,
    ),
    "endpoint failed": (
        failure(1, stop="user_error", outcome="quarantined"),
        Party.INFRASTRUCTURE,
        "user_error",
        4,
    ),
    "no room": (
        failure(1, [], stop="no_action", outcome="dropped"),
        Party.CONFIGURATION,
        "no_room_to_speak",
        0,
    ),
    "no verdict": (failure(1, success=None), Party.VERIFIER, "no_verdict", 4),
    "no stop reason (J-NOTERM)": (
        failure(1, stop=None),
        Party.INFRASTRUCTURE,
        "no_stop_reason",
        4,
    ),
    "noise": (
        failure(1, [agent("Which?", 0), user("My cat.", 0, faults=["drift"])]),
        Party.USER,
        "channel_fault",
        2,
    ),
    "silent tool": (
        failure(1, [agent("[search] x", 0), tool(" ", 0), agent("[answer] y", 1)]),
        Party.ENVIRONMENT,
        "silent_tool",
        2,
    ),
    "left early": (
        failure(1, [agent("Shall I book it?", 0), user("Bye.", 0)], stop="user_ended"),
        Party.USER,
        "left_early",
        2,
    ),
    "left when all was said": (
        failure(1, [agent("It is booked.", 0), user("Bye.", 0)], stop="user_ended"),
        Party.POLICY,
        "gave_the_wrong_answer",
        1,
    ),
    "deadlock": (failure(1, STALLED, stop="out_of_steps"), Party.USER, "deadlock", 2),
    "no answer taken, nothing left to ask": (
        failure(1, SHUT, stop="out_of_steps"),
        Party.USER,
        "deadlock",
        4,
    ),
    "an agent that repeats itself": (
        failure(1, REPEATING, stop="out_of_steps"),
        Party.POLICY,
        "dawdled",
        1,
    ),
    "an agent that asks what it was told": (
        failure(1, TOLD_BEFORE, stop="out_of_steps"),
        Party.POLICY,
        "dawdled",
        1,
    ),
    "withheld": (
        failure(1, [agent("Size?", 0), user("I forgot.", 0, act="ask", match="withheld")]),
        Party.CONFIGURATION,
        "withheld",
        2,
    ),
    "cut in progress": (
        failure(1, GAINING, stop="out_of_steps"),
        Party.CONFIGURATION,
        "cut_in_progress",
        8,
    ),
    "dawdled": (failure(1, IDLE, stop="out_of_tokens"), Party.POLICY, "dawdled", 3),
    "unreadable": (failure(1, [agent("@@", 0)], stop="malformed"), Party.POLICY, "unreadable", 1),
    "wrong choice": (failure(1), Party.POLICY, "wrong_choice", 4),
}


@pytest.mark.parametrize("name", CASES)
def test_a_failure_is_put_on_whom_its_record_shows(name: str) -> None:
    record, party, reason, turn = CASES[name]
    found = blame.blame(Dialogue(record), frozenset())
    assert (found.party, found.reason, found.turn) == (party, reason, turn)


def test_two_verdicts_on_the_same_answers_are_the_verifiers() -> None:
    right, wrong = episode(3), episode(3, id="000001-99", success=0.0, stop="failed")
    found = blame.blame_all([Dialogue(right), Dialogue(wrong)])
    assert [(entry.party, entry.reason, entry.evidence) for entry in found] == [
        (Party.VERIFIER, "verdict_contradicted", "episodes/000001.jsonl#000001-99@5")
    ]


def test_shares_add_up_to_the_failures_with_the_most_blamed_first() -> None:
    """J-TERMMIX: mixed reasons."""
    records = [*mixed(20), *(record for record, *_ in CASES.values())]
    episodes = [Dialogue(record) for record in records]
    blamed = blame.blame_all(episodes)
    found = blame.shares(episodes, blamed)
    assert found.failed == len(blamed) == 10 + len(CASES)
    assert sum(found.share(party) for party in Party) == pytest.approx(1.0)
    counts = [count for _, count in found.counts]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == sum(count for _, count in found.reasons) == found.failed


def test_partial_success_is_a_failure_and_full_success_is_not() -> None:
    episodes = [Dialogue(episode(1)), Dialogue(episode(2, success=0.99))]
    assert [entry.episode.id for entry in blame.blame_all(episodes)] == ["000001-02"]
