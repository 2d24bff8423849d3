"""No reader of a run falls over a damaged or odd log; no row is lost, and torn ones are counted."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gate.contract import files
from gate.contract.paths import RunPaths
from gate.effects import series
from gate.guard.step_memory import StepMemory
from skill.commands import diagnose, episodes, status
from skill.diagnosis import blame, detectors, windows
from skill.diagnosis.windows import Budget
from tests.incidents import logs
from tests.skill import recorded
from trainer import show
from trainer.probe import stored

WHOLE = 6
GOOD_STEPS = [recorded.step(number) for number in range(1, WHOLE + 1)]
GOOD_EPISODES = [recorded.episode(index, step=1) for index in range(WHOLE)]
NAN = b'{"loss": NaN}\n'


def damaged(records: list[dict[str, Any]]) -> dict[str, tuple[bytes, int, int]]:
    """Return damaged files by fixture: bytes, rows that must be read, and torn lines among them."""
    content = logs.lines(records)
    middle = content.index(b"\n", len(content) // 2) + 1
    return {
        "J-TORN": (content + content[: middle // 8], WHOLE, 1),
        "J-NUL": (content[:middle] + b"\0" * 512 + content[middle:] + b"\0" * 64, WHOLE, 1),
        "J-BADUTF8": (content.replace(b'"travel"', b'"tra\xff\xfevel"'), WHOLE, 0),
        "J-NANTOKEN": (content[:middle] + NAN + content[middle:], WHOLE + 1, 0),
        "no record": (content[:middle] + b"[1, 2]\n{\n" + content[middle:], WHOLE, 2),
    }


def printed(records: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    show.show(Console(file=stream, width=200), records)
    return stream.getvalue()


@pytest.mark.parametrize("fixture", damaged(GOOD_STEPS))
def test_damaged_steps_lose_no_row(tmp_path: Path, fixture: str) -> None:
    content, rows, torn = damaged(GOOD_STEPS)[fixture]
    paths = recorded.write(tmp_path / "run")
    paths.steps.write_bytes(content)
    look = windows.read(paths, now=recorded.NOW)
    assert (len(look.steps), look.torn) == (rows, torn)
    detectors.examine(look)
    memory = StepMemory(paths.steps)
    memory.follow(1)
    assert [point.step for point in memory.points] == list(range(1, WHOLE + 1))


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_steps_cut_at_any_byte_lose_the_last_row_alone(tmp_path: Path, cut: int) -> None:
    whole = logs.lines(GOOD_STEPS)
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    paths = recorded.write(tmp_path / "run")
    paths.steps.write_bytes(whole[: last + cut])
    memory = StepMemory(paths.steps)
    memory.follow(1)
    assert [point.step for point in memory.points] == list(range(1, WHOLE))
    look = windows.read(paths, now=recorded.NOW)
    assert ([one["step"] for one in look.steps], look.torn) == (list(range(1, WHOLE)), 1)


@pytest.mark.parametrize("fixture", damaged(GOOD_EPISODES))
def test_damaged_episodes_lose_no_row(tmp_path: Path, fixture: str) -> None:
    content, rows, torn = damaged(GOOD_EPISODES)[fixture]
    paths = recorded.write(tmp_path / "run")
    paths.episodes_of(1).write_bytes(content)
    look = windows.read(paths, now=recorded.NOW)
    assert (len(look.episodes), look.torn) == (rows, torn)
    shown = show.episodes(paths, limit=100)
    assert len(shown) == rows
    assert printed(shown).count("task-") == WHOLE
    assert len(stored.read(paths.root, 100)) == WHOLE


@pytest.mark.parametrize("fixture", logs.ODD)
def test_odd_logs_are_read_by_everyone(
    tmp_path: Path, fixture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fields: Mapping[str, Any] = logs.ODD[fixture]
    window = recorded.window(**fields)
    detectors.examine(window)
    for dialogue in window.dialogues:
        blame.blame(dialogue, frozenset())
    assert len(series.points(window.steps)) == len(window.steps)
    paths = recorded.write(
        tmp_path / "run",
        steps=fields.get("steps", ()),
        episodes=[{**one, "step": 1} for one in fields.get("episodes", ())],
    )
    look = windows.read(paths, now=recorded.NOW)
    assert len(look.steps) == len(fields.get("steps", ()))
    assert len(look.episodes) == len(fields.get("episodes", ()))
    assert look.torn == 0
    printed(show.episodes(paths, limit=100))
    for command in (status, diagnose, episodes):
        assert command.main([str(paths.root), "--json"]) in (0, 1)
        json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("fixture", "name"),
    [
        ("J-ENTCOLLAPSE", "entropy_collapse"),
        ("J-ENTRISE", "entropy_eruption"),
        ("J-KLBLOW", "kl_blow_up"),
        ("J-BANG", "repetition"),
        ("J-TEMPLATE", "template_collapse"),
        ("J-HACK1", "reward_hacking"),
        ("J-HACKLEN", "length_hacking"),
        ("J-STALE", "stale_sampler"),
    ],
)
def test_what_an_odd_log_shows_is_named(fixture: str, name: str) -> None:
    found = detectors.examine(recorded.window(**logs.ODD[fixture]))
    assert name in {symptom.name for symptom in found}


def test_equal_noise_is_no_symptom() -> None:
    found = detectors.examine(recorded.window(**logs.ODD["J-NOISE"]))
    assert not {symptom.name for symptom in found} & {"reward_hacking", "entropy_collapse"}


def test_a_big_log_is_read_from_its_end_in_bounded_work(tmp_path: Path) -> None:
    paths = recorded.write(tmp_path / "run")
    line = json.dumps(recorded.step(1)).encode() + b"\n"
    with paths.steps.open("wb") as file:
        for _ in range(40):
            file.write(line * 1_000)
    look = windows.read(paths, now=recorded.NOW, budget=Budget(steps=50, file_bytes=1 << 20))
    assert len(look.steps) == 50
    assert files.tail(paths.steps, 3).torn == 0


def test_a_record_without_anything_is_shown_all_the_same(run_dir: Path) -> None:
    paths = RunPaths(run_dir)
    paths.episodes.mkdir()
    paths.episodes_of(1).write_bytes(b'{"loss": NaN}\n{"turns": [7, {"text": 3}], "rewards": 5}\n')
    shown = show.episodes(paths, limit=5)
    assert len(shown) == 2
    assert printed(shown).count("\n") >= 2
