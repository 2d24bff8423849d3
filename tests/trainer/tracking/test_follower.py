"""A run is followed from its first step to its end, and whatever interrupts it, no step twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gate.contract import files
from gate.contract.paths import RunPaths
from tests.trainer.looking.mended_run import LAST
from tests.trainer.tracking import fake_trackers
from tests.trainer.tracking.fake_trackers import Broken, Keeper, Replacing
from trainer.errors import Unusable
from trainer.looking.pulse import GRANTED_S
from trainer.looking.reading import Reader, Reading
from trainer.tracking import cursor as cursors
from trainer.tracking import follower
from trainer.tracking.cursor import Cursor
from trainer.tracking.follower import FORSAKEN_S, Followed

ALL = list(range(1, LAST + 1))
Over = Callable[[Reading], str | None]


def after(looks: int) -> Over:
    """Return what says that a run is over at its so-manieth look."""
    left = iter([None] * looks)
    return lambda reading: next(left, "enough")


def steps_in(folder: Path) -> list[int]:
    return [row["step"] for row in fake_trackers.kept(folder) if row["numbers"]]


def at_once() -> None:
    """Wait for nothing."""


def test_a_finished_run_is_followed_from_its_first_step(run: RunPaths, folder: Path) -> None:
    followed = follower.follow(run, Keeper, folder, over=after(0), wait=at_once)
    assert followed == Followed(LAST, "enough")
    assert steps_in(folder) == ALL
    (first, *_) = fake_trackers.kept(folder)
    assert first["numbers"]["rollout/success"] == files.read_lines(run.steps).records[0]["success"]


def test_a_live_run_is_followed_as_it_grows_and_a_torn_line_waits(
    run: RunPaths, folder: Path
) -> None:
    whole = run.steps.read_bytes()
    lines = whole.splitlines(keepends=True)
    run.steps.write_bytes(b"".join(lines[:10]))
    seen: list[list[int]] = []

    def grow() -> Iterator[None]:
        for content in (b"".join(lines[10:12]) + lines[12][:7], lines[12][7:]):
            seen.append(steps_in(folder))
            with run.steps.open("ab") as file:
                file.write(content)
            yield

    growing = grow()
    follower.follow(run, Keeper, folder, over=after(3), wait=lambda: next(growing, None))
    assert seen == [ALL[:10], ALL[:12]] and steps_in(folder) == ALL[:13]


def test_what_is_put_on_file_just_before_the_end_is_not_missed(run: RunPaths, folder: Path) -> None:
    whole = run.steps.read_bytes()
    run.steps.write_bytes(b"")

    def over(reading: Reading) -> str:
        with run.steps.open("ab") as file:
            file.write(whole)
        return "finished meanwhile"

    follower.follow(run, Keeper, folder, over=over, wait=at_once)
    assert steps_in(folder) == ALL


def test_a_follower_that_begins_again_writes_only_what_is_new(run: RunPaths, folder: Path) -> None:
    whole = run.steps.read_bytes()
    run.steps.write_bytes(b"".join(whole.splitlines(keepends=True)[:7]))
    follower.follow(run, Keeper, folder, over=after(0), wait=at_once)
    run.steps.write_bytes(whole)
    opened: list[Keeper] = []

    def again(*words: object) -> Keeper:
        opened.append(Keeper(*words))  # pyright: ignore[reportArgumentType]
        return opened[-1]

    for _ in range(2):
        follower.follow(run, again, folder, over=after(0), wait=at_once)
    assert steps_in(folder) == ALL and [one.after for one in opened] == [7, LAST]
    assert [one.closed for one in opened] == [1, 1]


def test_a_run_whose_steps_were_cut_keeps_what_the_tracker_was_told_first(
    run: RunPaths, folder: Path
) -> None:
    whole = run.steps.read_bytes()
    lines = whole.splitlines(keepends=True)
    contents = iter([b"".join(lines[:5]), b"".join(lines[:5]) + lines[5], whole])

    def wait() -> None:
        # As after a power loss: shorter, then grown past where it was.
        run.steps.unlink()
        run.steps.write_bytes(next(contents, whole))

    follower.follow(run, Keeper, folder, over=after(4), wait=wait)
    assert steps_in(folder) == ALL


def test_a_tracker_that_fails_is_closed_and_what_it_did_not_take_comes_after_the_next_start(
    run: RunPaths, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "MOST_ROWS", 1)
    with pytest.raises(ConnectionError):
        follower.follow(run, Broken, folder, over=after(0), wait=at_once)
    assert steps_in(folder) == [1]
    follower.follow(run, Keeper, folder, over=after(0), wait=at_once)
    # It cannot be known whether the second arrived, and a step shown twice is worse than none.
    assert steps_in(folder) == [1, *ALL[2:]]


def test_a_tracker_that_replaces_is_told_again_what_it_may_not_have(
    run: RunPaths, folder: Path
) -> None:
    class Refusing(Replacing):
        def flush(self) -> None:
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        follower.follow(run, Refusing, folder, over=after(0), wait=at_once)
    assert cursors.read(folder) == Cursor()
    follower.follow(run, Replacing, folder, over=after(0), wait=at_once)
    assert steps_in(folder) == [*ALL, *ALL]


def test_damage_of_the_records_is_told_once(run: RunPaths, folder: Path) -> None:
    with run.steps.open("ab") as file:
        file.write(b"half a li\n")
    said: list[str] = []
    follower.follow(run, Keeper, folder, over=after(3), wait=at_once, say=said.append)
    assert len(said) == 1 and "steps.jsonl: 1 lines hold no record" in said[0]


def test_a_cursor_that_says_nothing_is_refused_with_the_way_out(
    run: RunPaths, folder: Path
) -> None:
    (folder / cursors.NAME).write_text("[]")
    with pytest.raises(Unusable, match=r"remove .*tensorboard to begin anew"):
        follower.follow(run, Keeper, folder, over=after(0), wait=at_once)
    shutil.rmtree(folder)
    folder.mkdir()
    follower.follow(run, Keeper, folder, over=after(0), wait=at_once)
    assert steps_in(folder) == ALL


def test_what_a_killed_writer_of_the_cursor_left_is_removed(folder: Path) -> None:
    (folder / f".{cursors.NAME}.77.tmp").write_bytes(b"{")
    cursors.write(folder, Cursor(3, 1))
    assert cursors.read(folder) == Cursor(3, 1)
    assert [path.name for path in folder.iterdir()] == [cursors.NAME]


@pytest.mark.parametrize(
    ("status", "there", "silent", "expected"),
    [
        ({"phase": "training"}, True, GRANTED_S * 5, None),
        ({"phase": "paused"}, True, FORSAKEN_S - 1, None),
        ({"phase": "paused"}, True, FORSAKEN_S + 1, "the run is silent, for 12 h 00 min"),
        ({"phase": "training"}, False, GRANTED_S - 1, None),
        (
            {"phase": "training"},
            False,
            GRANTED_S + 1,
            "the run has no process on this machine and is silent, for 1 min 01 s",
        ),
        ({"phase": "finished"}, False, 0.0, "the run is finished"),
        ({"phase": "stopped"}, True, 1e6, "the run is stopped"),
        ({"phase": "failed"}, True, 0.0, "the run is failed"),
    ],
)
def test_a_run_is_left_when_it_ended_or_its_process_is_gone_or_all_patience(
    recorded: RunPaths, status: dict[str, object], there: bool, silent: float, expected: str | None
) -> None:
    beat = 1000.0
    reading = replace(
        Reader(recorded).read(), status={**status, "heartbeat": beat, "pid": 5}, steps=()
    )
    assert follower.over(reading, beat + silent, alive=lambda pid: there and pid == 5) == expected


def test_slow_steps_earn_a_run_without_process_more_patience(recorded: RunPaths) -> None:
    slow = [{"step": 1, "step_s": 600.0}]
    status = {"phase": "training", "heartbeat": 1000.0, "pid": 5}
    reading = replace(Reader(recorded).read(), status=status, steps=slow)
    assert follower.over(reading, 3900.0, alive=lambda _: False) is None
    assert follower.over(reading, 4100.0, alive=lambda _: False) is not None


def test_a_run_that_never_had_a_heartbeat_is_left_by_the_time_of_its_launch(
    recorded: RunPaths,
) -> None:
    reading = replace(Reader(recorded).read(), status={}, launch={"launched": 1000.0}, steps=())
    assert follower.over(reading, 1010.0, alive=lambda _: False) is None
    assert follower.over(reading, 1100.0, alive=lambda _: False) is not None
    assert follower.over(replace(reading, launch={}), 1e9, alive=lambda _: False) is None
