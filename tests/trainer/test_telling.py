"""What went wrong in a step becomes events of the kind that the records declare for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gate.contract import knobs
from gate.contract.findings import Finding, Severity
from gate.guard import KnobStatus
from trainer import telling
from trainer.episode import Episode, StopReason, Voice
from trainer.rollout.collect import Rollout

GONE = knobs.unreadable_file(Path("knobs/user.yaml"), FileNotFoundError(2, "No such file"))
WRONG = Finding("knobs.range", Severity.ERROR, "user.max_reveals is 99.", "At most 5.")
STATUS = KnobStatus(knobs.defaults(), 4)

LOST = Episode(
    id="e0",
    task_id="t",
    world="travel",
    arm=Voice.LLM,
    turns=(),
    rewards=(),
    stop=StopReason.USER_ERROR,
    revision=4,
    seed=0,
    error="no answer within 30 s",
)


def test_a_file_that_cannot_be_read_is_another_event_than_one_that_is_refused() -> None:
    found = list(telling.changes(replace(STATUS, refused=(GONE, WRONG)), None, 0))
    assert [(one.kind, [part["rule"] for part in one.detail["findings"]]) for one in found] == [
        ("knob_vanished", [knobs.UNREADABLE]),
        ("knob_refused", ["knobs.range"]),
    ]


def test_what_stays_refused_is_told_once() -> None:
    refused = replace(STATUS, refused=(GONE,))
    assert list(telling.changes(refused, refused, 0)) == []


def test_users_without_an_answer_are_one_event_of_a_step_with_a_reason() -> None:
    rollout = Rollout((LOST, replace(LOST, id="e1", error="refused")), (), {}, {})
    told = {one.kind: one.detail for one in telling.of_users(rollout)}
    assert told == {"user_failed": {"episodes": 2, "error": "no answer within 30 s"}}
    assert list(telling.of_users(Rollout((), (), {}, {}))) == []
