"""A trainer may die between any two writes: the next look goes on, and nothing is told twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract import files
from tests import proposed
from tests.gate.guard import played


def harmed(root: Path, *, restarts: bool, steps: int = 30) -> played.PlayedRun:
    """Return a run in which a proposal did harm, its trainer killed before every step or never."""
    run = played.launch(root)
    run.play(30)
    proposed.submit(run.paths, window=10)
    run.success = played.under(0.35, 0.5)
    for _ in range(steps):
        if restarts:
            run.restart()
        run.play()
    return run


def test_a_verdict_survives_a_restart_before_every_step(tmp_path: Path) -> None:
    straight = harmed(tmp_path / "straight", restarts=False)
    broken = harmed(tmp_path / "broken", restarts=True)
    assert straight.outcomes()[0].verdict == "harm"
    assert broken.paths.ledger.read_bytes() == straight.paths.ledger.read_bytes()
    assert broken.paths.steps.read_bytes() == straight.paths.steps.read_bytes()
    assert [one.revision for one in broken.statuses] == [one.revision for one in straight.statuses]
    for name in ("experiments/0001.yaml", "knobs/user.yaml"):
        ours, theirs = (run.paths.root / name for run in (broken, straight))
        assert ours.read_bytes() == theirs.read_bytes()


def test_no_line_of_the_ledger_is_lost_or_doubled_wherever_it_is_cut(tmp_path: Path) -> None:
    whole = harmed(tmp_path / "whole", restarts=False)
    lines = whole.paths.ledger.read_bytes().splitlines(keepends=True)
    told = [files.parse_line(line)[0] for line in lines]
    kinds = [record and record["kind"] for record in told]
    assert kinds == ["launch", "intent", "committed", "opened", "intent", "committed", "outcome"]
    for kept in range(3, len(lines)):
        run = played.launch(tmp_path / f"cut-{kept}")
        # What it left: its records up to the boundary at which it would have written the next line.
        cut = told[kept]
        assert cut is not None
        records = whole.paths.steps.read_bytes().splitlines(keepends=True)[: cut["step"] - 1]
        run.paths.steps.write_bytes(b"".join(records))
        run.paths.ledger.write_bytes(b"".join(lines[:kept]))
        reverted = kept > 4
        for name in ("knobs/user.yaml", "proposals/0001.yaml"):
            source = whole.paths.root / name
            (run.paths.root / name).write_bytes(source.read_bytes())
        if not reverted:
            user = run.paths.knob_file("user")
            user.write_bytes(user.read_bytes().replace(b"max_reveals: 2", b"max_reveals: 3"))
        run.step = cut["step"] - 1
        run.restart()
        status = run.look()
        assert run.paths.ledger.read_bytes().splitlines(keepends=True)[:kept] == lines[:kept]
        assert [one["kind"] for one in _records(run)] == kinds[: len(_records(run))]
        assert status.revision == (2 if cut["step"] > 31 else 1)
        run.look()
        assert len(run.outcomes()) == (1 if cut["step"] > 31 else 0)


def _records(run: played.PlayedRun) -> tuple[dict[str, object], ...]:
    return files.read_lines(run.paths.ledger).records


def test_the_files_of_tests_are_made_again(tmp_path: Path) -> None:
    run = harmed(tmp_path / "run", restarts=False)
    told = run.paths.experiment(1).read_bytes()
    run.paths.experiment(1).unlink()
    proposed.submit(run.paths, changes={"user.max_reveals": 1})
    run.play()
    assert run.paths.experiment(1).read_bytes() == told


@pytest.mark.parametrize("place", ["link", "nothing"])
def test_without_a_folder_of_tests_the_ledger_alone_tells(tmp_path: Path, place: str) -> None:
    run = played.launch(tmp_path / "run")
    run.paths.experiments.rmdir()
    if place == "link":
        (tmp_path / "elsewhere").mkdir()
        run.paths.experiments.symlink_to(tmp_path / "elsewhere")
    run.play(30)
    proposed.submit(run.paths)
    run.play()
    assert len(run.tests()) == 1
    assert list((tmp_path / "elsewhere").glob("*")) == []


def test_a_test_is_opened_late_but_not_too_late(tmp_path: Path) -> None:
    for delay, opened in ((3, [34]), (9, [])):
        run = played.launch(tmp_path / f"late-{delay}")
        run.play(30)
        played.command(run, "user.max_reveals", 3)
        run.success = played.constant(0.5)
        while run.step < 30 + delay:
            run.step += 1
            status = run.guard.status
            line = files.encode_line(run.record(status))
            with run.paths.steps.open("ab") as stream:
                stream.write(line + b"\n")
        run.play()
        assert [test.opened for test in run.tests()] == opened
