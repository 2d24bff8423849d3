"""A step is due once, and what came into force or was found goes with the first step after it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.contract.paths import RunPaths
from tests.trainer.looking import mended_run
from trainer.looking.reading import Reader, Reading
from trainer.tracking import rows
from trainer.tracking.cursor import Cursor


@pytest.fixture
def reading(recorded: RunPaths) -> Reading:
    """The run, read."""
    return Reader(recorded).read()


def test_every_step_is_due_in_order_with_its_numbers(reading: Reading) -> None:
    due = list(rows.due(reading, Cursor()))
    assert [one.row.step for one in due] == list(range(1, mended_run.LAST + 1))
    assert all(one.cursor.step == one.row.step for one in due)
    assert due[0].row.numbers["rollout/success"] == reading.steps[0]["success"]
    assert due[0].row.time == reading.steps[0].get("time")


def test_a_revision_and_a_verdict_go_with_the_first_step_under_them(reading: Reading) -> None:
    marks = {one.row.step: one.row.marks for one in rows.due(reading, Cursor()) if one.row.marks}
    assert sorted(marks) == [mended_run.FAULT, mended_run.MENDED, mended_run.JUDGED]
    (fault,) = marks[mended_run.FAULT]
    assert fault.startswith(f"step {mended_run.FAULT}  revision 1  a planted fault: ")
    assert "environment.max_steps" in fault and "(planted short: too few turns)" in fault
    assert any("HELP  revision 2: success +0.450" in one for one in marks[mended_run.JUDGED])


def test_nothing_is_due_twice(reading: Reading) -> None:
    due = list(rows.due(reading, Cursor()))
    again = list(rows.due(reading, due[19].cursor))
    assert [one.row for one in again] == [one.row for one in due[20:]]
    assert list(rows.due(reading, due[-1].cursor)) == []
    assert list(rows.due(reading, due[-1].cursor, last=True)) == []


def test_a_step_that_comes_again_after_records_were_cut_is_passed_over(reading: Reading) -> None:
    cut = replace(reading, steps=reading.steps[:5])
    assert list(rows.due(cut, Cursor(step=8, seq=0))) == []


def test_marks_after_the_last_step_wait_for_one_and_are_told_at_the_end(reading: Reading) -> None:
    early = replace(reading, steps=reading.steps[: mended_run.JUDGED - 1])
    due = list(rows.due(early, Cursor()))
    told = [mark for one in due for mark in one.row.marks]
    assert not any("HELP" in mark for mark in told)
    (end,) = rows.due(early, due[-1].cursor, last=True)
    assert end.row.step == mended_run.JUDGED - 1 and end.row.numbers == {}
    assert any("HELP" in mark for mark in end.row.marks)
    assert (end.row.marks_name, due[0].row.marks_name) == ("ledger/end", "ledger/step")
    assert list(rows.due(early, end.cursor, last=True)) == []
    later = list(rows.due(reading, end.cursor))
    assert [mark for one in later for mark in one.row.marks] == []


def test_a_ledger_that_cannot_be_trusted_costs_the_marks_alone(run: RunPaths) -> None:
    with run.ledger.open("a") as ledger:
        ledger.write('{"seq": 99}\n')
    due = list(rows.due(Reader(run).read(), Cursor(), last=True))
    assert len(due) == mended_run.LAST and not any(one.row.marks for one in due)


def test_a_tracker_is_told_what_tells_runs_apart_and_no_setting(reading: Reading) -> None:
    launch = {
        "launched": 7.5,
        "commit": "abc",
        "parent": None,
        "attempt": 2,
        "config": {
            "name": "demo",
            "seed": 3,
            "users": {"endpoint": {"base_url": "http://inside:1/v1", "key_env": "OUR_KEY"}},
        },
    }
    about = rows.about(replace(reading, launch=launch))
    assert about.run == "mended"
    assert about.facts == {"recipe": "demo", "seed": 3, "commit": "abc", "attempt": 2}
    other = rows.about(replace(reading, launch={**launch, "launched": 8.5}))
    assert about.identity.startswith("mended-") and about.identity != other.identity
