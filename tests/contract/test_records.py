"""Every field of a record says what it means, and clocks are told apart from what happened."""

from __future__ import annotations

from dataclasses import fields

from gate.contract import records
from gate.contract.records import EventRecord


def test_every_field_of_every_record_is_on_the_page() -> None:
    page = records.markdown()
    for name, kind in records.RECORDS.items():
        assert f"## `{name}`" in page
        for entry in fields(kind):
            assert f"| `{entry.name}` |" in page
            assert entry.metadata["sentence"] in page
    assert all(f"| `{kind}` | {told} |" in page for kind, told in records.EVENT_KINDS.items())


def test_two_equal_runs_differ_in_clocks_alone() -> None:
    first = EventRecord(kind="checkpoint", step=3, detail={"directory": "step-3"}, time=1.0)
    second = records.to_json(first) | {"time": 2.0}
    without = records.without_clock(EventRecord, second)
    assert without == {"kind": "checkpoint", "step": 3, "detail": {"directory": "step-3"}}
