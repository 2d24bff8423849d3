"""One window is open at a time, and a knob that was written rests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gate import selftest
from gate.contract import windows
from gate.contract.findings import Severity
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, Revision, RevisionKind
from gate.contract.windows import Window
from gate.rules import pace
from tests.gate.changes import change_set

ENTROPY = "agent.entropy_coeff"
OPEN = Window(6, 3, first_step=30, steps=20, knobs=frozenset({ENTROPY}))
GATE = {"author": Author.META_AGENT, "step": 41}


def told(new: dict[str, Any], **evidence: Any) -> list[tuple[Severity, str]]:
    found = pace.check(change_set(new, **{**GATE, **evidence}))
    return [(one.severity, one.next_step) for one in found]


def test_a_change_in_an_open_window_waits_or_declares_itself() -> None:
    assert told({"user.max_reveals": 3}, windows=(OPEN,)) == [
        (Severity.ERROR, "Wait until step 50, or declare it: concurrent: true.")
    ]
    declared = replace(selftest.GOOD, concurrent=True)
    assert told({"user.max_reveals": 3}, windows=(OPEN,), proposal=declared) == []
    assert told({"user.max_reveals": 3}, windows=(OPEN,), proposal=selftest.GOOD) != []


def test_the_knob_under_test_is_left_alone_even_by_a_concurrent_change() -> None:
    declared = replace(selftest.GOOD, concurrent=True)
    new = {ENTROPY: 0.004, "user.max_reveals": 3}
    assert told(new, windows=(OPEN,), proposal=declared) == [
        (Severity.ERROR, "Wait until step 50.")
    ]


@pytest.mark.parametrize("author", [Author.PERSON, Author.UNATTRIBUTED])
def test_a_person_is_warned_of_an_open_window_and_may_think_again(author: Author) -> None:
    found = told({"user.max_reveals": 3}, author=author, windows=(OPEN,))
    assert [severity for severity, _ in found] == [Severity.WARNING]
    assert told({ENTROPY: 0.004}, author=author, last_written={ENTROPY: 40}) == []


@pytest.mark.parametrize(
    ("knob", "value", "rest"), [(ENTROPY, 0.004, 20), ("user.max_reveals", 3, 5)]
)
def test_a_written_knob_rests_until_its_effect_can_show(knob: str, value: Any, rest: int) -> None:
    assert told({knob: value}, last_written={knob: 41 - rest}) == []
    assert told({knob: value}, last_written={knob: 41 - rest + 1}) == [
        (Severity.ERROR, "Wait until step 42.")
    ]


def test_another_worlds_write_of_the_same_knob_counts_and_another_knob_does_not() -> None:
    written = {"user.worlds.travel.max_reveals": 40}
    assert told({"user.max_reveals": 3}, last_written=written) != []
    assert told({"user.match_threshold": 0.5}, last_written=written) == []


def test_a_change_of_nothing_disturbs_nothing() -> None:
    assert told({}, windows=(OPEN,)) == []


def revision(number: int, kind: RevisionKind, step: int, **details: Any) -> Revision:
    moved = (KnobChange("user.worlds.travel.max_reveals", 2, 3),)
    return Revision(number, kind, Author.META_AGENT, "", step, 0.0, moved, {}, 0, details)


def test_a_window_ends_with_its_last_step_or_when_it_is_taken_back() -> None:
    asked = {"number": 6, "window": 20, "concurrent": False}
    history = [
        revision(1, RevisionKind.COMMAND, 10),
        revision(3, RevisionKind.PROPOSAL, 30, proposal=asked),
    ]
    (found,) = windows.open_at(49, history)
    assert (found.proposal, found.revision, found.last_step) == (6, 3, 49)
    assert found.knobs == {"user.max_reveals"}
    assert windows.open_at(50, history) == ()
    back = revision(4, RevisionKind.REVERT, 35, reverts=3)
    assert windows.open_at(40, [*history, back]) == ()
