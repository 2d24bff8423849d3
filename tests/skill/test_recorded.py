"""The runs that these tests build are as a trainer writes them, field for field."""

from __future__ import annotations

from dataclasses import fields

from gate.contract.records import EpisodeRecord, StatusRecord, StepRecord
from skill.diagnosis.windows import Window
from tests.skill import recorded


def _names(kind: type) -> set[str]:
    return {entry.name for entry in fields(kind)}


def test_recorded_fields_are_declared() -> None:
    window: Window = recorded.window()
    assert window.steps[0].keys() <= _names(StepRecord)
    assert window.episodes[0].keys() <= _names(EpisodeRecord)
    assert window.status.keys() <= _names(StatusRecord)
