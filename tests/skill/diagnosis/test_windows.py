"""A window reads a bounded part of a run, and no damage costs more than its own line."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from gate.contract.paths import RunPaths
from skill.diagnosis import windows
from skill.diagnosis.windows import Budget
from tests.live_run import launch, save
from tests.skill import recorded
from tests.skill.recorded import BIG_STEPS


def test_a_run_that_has_not_begun_is_an_empty_window(tmp_path: Path) -> None:
    look = windows.read(RunPaths(tmp_path), now=0.0)
    assert (look.steps, look.outline, look.events, look.episodes) == ((), (), (), ())
    assert [note.split(" ")[0] for note in look.notes] == ["status.json", "ledger.jsonl"]


def test_the_newest_records_come_in_order_and_the_outline_spans_the_run(big_run: RunPaths) -> None:
    look = windows.read(big_run, now=recorded.NOW)
    assert [record["step"] for record in look.steps] == list(range(BIG_STEPS - 59, BIG_STEPS + 1))
    outline = [record["step"] for record in look.outline]
    assert outline[0] == 1 and len(outline) == 48 and outline == sorted(outline)
    gaps = [later - sooner for sooner, later in itertools.pairwise(outline)]
    assert max(gaps) < 1.2 * BIG_STEPS / 48
    history = [record["step"] for record in look.history]
    assert history == sorted(set(history)) and history[-1] == BIG_STEPS


def test_what_is_read_of_a_long_run_stays_within_its_budget(big_run: RunPaths) -> None:
    look = windows.read(big_run, now=recorded.NOW)
    assert len(look.events) == Budget().events
    assert 320 <= len(look.episodes) <= Budget().episodes
    size = len(json.dumps(look.episodes))
    assert size < 1.5 * Budget().file_bytes


def test_one_huge_file_is_read_from_its_end_alone(tmp_path: Path) -> None:
    """J-BIG, as one file of episodes."""
    paths = recorded.write(tmp_path / "run")
    line = json.dumps(recorded.episode(1, step=7)) + "\n"
    with paths.episodes_of(7).open("w") as file:
        file.write(line * 60_000)
    look = windows.read(paths, now=0.0, budget=Budget(episodes=100, file_bytes=1 << 20))
    assert len(look.episodes) == 100 and look.torn == 0


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_torn_last_line_costs_itself_alone(tmp_path: Path, cut: int) -> None:
    """J-TORN: cut at each byte."""
    paths = recorded.write(tmp_path / "run", steps=recorded.steps(3))
    content = paths.steps.read_bytes()
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    paths.steps.write_bytes(content[: last + cut])
    look = windows.read(paths, now=0.0)
    assert [record["step"] for record in look.steps] == [1, 2]
    assert look.torn == 1


def test_damaged_lines_are_mended_or_counted_and_no_row_is_lost(tmp_path: Path) -> None:
    """J-NUL, J-BADUTF8, J-NANTOKEN, and a line that is no record."""
    paths = recorded.write(tmp_path / "run")
    good = [json.dumps({"step": number}).encode() for number in (1, 2, 3, 4)]
    nan = b'{"step": 5, "learner": {"entropy": NaN}}'
    bad = b'{"step": 6, "note": "\xff\xfe"}'
    lines = [good[0], b"\0" * 90 + good[1], b"[1, 2]", good[2], nan, bad, b"{", good[3]]
    paths.steps.write_bytes(b"\n".join(lines) + b"\n" + b"\0" * 512)
    look = windows.read(paths, now=0.0)
    assert [record["step"] for record in look.steps] == [1, 2, 3, 5, 6, 4]
    assert look.mended == 3
    assert look.torn == 3


def test_knobs_in_force_follow_the_ledger_and_not_the_file(tmp_path: Path) -> None:
    run = launch(tmp_path / "run")
    save(run, "user.max_reveals", 3)
    look = windows.read(run, now=0.0)
    assert look.knob("user.max_reveals") == 2
    assert [note for note in look.notes if "ledger" in note] == []


def test_a_ledger_that_is_none_is_told_and_stops_nothing(tmp_path: Path) -> None:
    paths = recorded.write(tmp_path / "run", steps=recorded.steps(2))
    paths.ledger.write_text('{"kind": "nonsense"}\n')
    look = windows.read(paths, now=0.0)
    assert look.knobs is None and len(look.steps) == 2
    assert any("ledger.jsonl" in note for note in look.notes)


def test_anchors_and_the_old_side_of_a_test_are_not_what_the_run_does_now() -> None:
    sides = ("in_force", "new", "old", "anchor")
    look = recorded.window(
        episodes=tuple(recorded.episode(i, side=side) for i, side in enumerate(sides))
    )
    assert [one.record["side"] for one in look.recent] == ["in_force", "new"]
