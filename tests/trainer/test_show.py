"""Episodes are shown as they were, and nothing in them can act on whoever reads."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gate.contract import files
from gate.contract.paths import RunPaths
from trainer import show

HOSTILE = '<tool_call>{"a":1}</tool_call><script>alert(1)</script> [red]x[/red] [/nothing] :smile:'
ESCAPES = "\x1b[31mred\x07 \x9b2J \u202eright \x00 \ud800"


def record(identity: str, **other: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "step": int(identity[:6]),
        "task_id": "t-1",
        "world": "travel",
        "arm": "symbolic",
        "revision": 0,
        "stop": "solved",
        "outcome": "finished",
        "success": 1.0,
        "reward": 1.0,
        "rewards": [{"rule": "task", "value": 1.0, "turn": 0}],
        "turns": [
            {"speaker": "user", "text": "hello", "agent_turn": 0},
            {"speaker": "agent", "text": "[answer] B", "agent_turn": 0},
        ],
        "error": None,
        **other,
    }


@pytest.fixture
def run(run_dir: Path) -> RunPaths:
    paths = RunPaths(run_dir)
    paths.episodes.mkdir()
    for step in (1, 2):
        for index in range(3):
            success = None if index == 2 else float(index)
            entry = record(f"{step:06d}-{index:02d}", success=success)
            files.append_line(paths.episodes_of(step), entry)
    return paths


def text_of(entry: dict[str, Any]) -> str:
    stream = io.StringIO()
    show.show(Console(file=stream, width=500, force_terminal=False), [entry])
    return stream.getvalue()


def test_the_newest_step_comes_first(run: RunPaths) -> None:
    found = show.episodes(run, limit=4)
    assert [one["id"] for one in found] == ["000002-00", "000002-01", "000002-02", "000001-00"]


def test_one_episode_or_one_step_is_found_by_its_number(run: RunPaths) -> None:
    assert [one["id"] for one in show.episodes(run, episode="000001-01")] == ["000001-01"]
    assert [one["id"] for one in show.episodes(run, step=1, limit=2)] == ["000001-00", "000001-01"]
    for nobody in ("000009-00", "nobody", "000001x-0", "²²²²²²-00", "-1"):
        assert show.episodes(run, episode=nobody) == []


def test_failed_ones_are_those_without_full_success(run: RunPaths) -> None:
    found = show.episodes(run, failed=True, limit=10)
    assert [one["id"][-1] for one in found] == ["0", "2", "0", "2"]


def test_a_torn_line_hides_no_other(run: RunPaths) -> None:
    with run.episodes_of(2).open("ab") as file:
        file.write(b'{"id": "000002-03", "turns": [')
    assert len(show.episodes(run, limit=10)) == 6


def test_hostile_text_is_shown_word_for_word(run: RunPaths) -> None:
    turns = [{"speaker": "agent", "text": HOSTILE, "agent_turn": 0}]
    assert HOSTILE in text_of(record("000001-00", turns=turns))


FIELDS: dict[str, Any] = {
    "task_id": ESCAPES,
    "world": ESCAPES,
    "arm": ESCAPES,
    "stop": ESCAPES,
    "error": ESCAPES,
    "turns": [
        {
            "speaker": ESCAPES,
            "text": ESCAPES,
            "agent_turn": 0,
            "voice": ESCAPES,
            "events": [ESCAPES],
            "revealed": [ESCAPES],
        }
    ],
    "rewards": [{"rule": ESCAPES, "value": 1.0, "turn": 0}],
}


@pytest.mark.parametrize("field", FIELDS)
def test_control_characters_are_made_visible_in_every_field(field: str) -> None:
    entry = record("000001-00")
    entry[field] = FIELDS[field]
    told = text_of(entry)
    assert all(character.isprintable() or character == "\n" for character in told)
    assert "\\x1b[31mred\\x07 \\x9b2J \\x202eright \\x00 \\xd800" in told


def test_payments_events_and_facts_stand_beside_their_turn() -> None:
    turns = [
        {"speaker": "agent", "text": "which?", "agent_turn": 0},
        {
            "speaker": "user",
            "text": "blue\nplease",
            "agent_turn": 0,
            "voice": "symbolic",
            "revealed": ["P1"],
            "events": ["preference_elicited"],
            "private": {"thought": "secret"},
        },
    ]
    told = text_of(record("000001-00", turns=turns, success=None, error="it broke"))
    assert "agent  which?   [task +1.000]" in told
    assert "user/symbolic  blue\n                please   [preference_elicited, reveals P1]" in told
    assert "no verdict" in told and "error: it broke" in told


def test_a_record_is_plain_json_for_a_program(run: RunPaths) -> None:
    entry = record("000001-00", task_id=ESCAPES)
    assert json.loads(json.dumps(entry)) == entry
