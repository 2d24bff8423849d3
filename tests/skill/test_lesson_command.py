"""`lesson` writes what was learnt once, whole, and says why it does not."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from skill.commands import lesson
from skill.experience import pool

NEW = [
    "new", "--title", "Few facts slow learning", "--world", "travel", "--policy", "small",
    "--knob", "user.facts_per_reply", "--evidence", "runs/a/steps.jsonl#40",
]  # fmt: skip


@pytest.fixture(autouse=True)
def body(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text that is piped in."""
    monkeypatch.setattr("sys.stdin", io.StringIO("What we saw.\n"))


def test_a_lesson_is_written_and_indexed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lesson.main([*NEW, "--json", "--experience", str(tmp_path)]) == 0
    written = Path(json.loads(capsys.readouterr().out)["written"])
    assert written == tmp_path / "lessons" / "0001-few-facts-slow-learning.md"
    assert "Few facts slow learning" in (tmp_path / "INDEX.md").read_text()
    assert lesson.main(["search", "facts", "--experience", str(tmp_path)]) == 0
    assert "hunch" in capsys.readouterr().out


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lesson.main([*NEW, "--dry-run", "--experience", str(tmp_path)]) == 0
    assert "# Few facts slow learning\n\nWhat we saw." in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_claim_without_a_verdict_is_blocked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--experience", str(tmp_path)]
    assert lesson.main([*NEW, "--status", "supported", *place]) == 1
    assert "needs a verdict of the gate" in capsys.readouterr().err
    assert pool.read(tmp_path / "lessons").lessons == ()


def test_no_text_is_misuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(" \n"))
    with pytest.raises(SystemExit) as ended:
        lesson.main([*NEW, "--experience", str(tmp_path)])
    assert ended.value.code == 2


def test_a_text_that_is_given_by_its_flag_is_the_lessons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["--text", "We saw it\n\nand did this.", "--dry-run", "--experience", str(tmp_path)]
    assert lesson.main([*NEW, *told]) == 0
    printed = capsys.readouterr().out
    assert "We saw it\n\nand did this." in printed and "What we saw." not in printed


@pytest.mark.parametrize("text", ["", " \n", "x" * 65_537])
def test_a_text_of_nothing_or_of_too_much_is_misuse(tmp_path: Path, text: str) -> None:
    with pytest.raises(SystemExit) as ended:
        lesson.main([*NEW, "--text", text, "--experience", str(tmp_path)])
    assert ended.value.code == 2 and list(tmp_path.iterdir()) == []


def test_a_lesson_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lesson.main(["show", "9", "--experience", str(tmp_path)]) == 1
    assert "no lesson 9" in capsys.readouterr().err


def test_an_index_over_a_broken_lesson_says_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "0001-x.md").write_text("nothing")
    assert lesson.main(["index", "--experience", str(tmp_path)]) == 1
    assert "left out: 0001-x.md" in capsys.readouterr().err
    assert (tmp_path / "INDEX.md").is_file()
