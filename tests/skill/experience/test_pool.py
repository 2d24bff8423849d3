"""The pool is only ever added to; corrections supersede, and a verdict must be on file."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate.contract import ledger
from gate.contract.findings import Refused
from gate.contract.ledger import EntryKind
from skill.experience import index, pool
from skill.experience.doubts import contradictions, doubts
from skill.experience.lesson import Status
from skill.experience.pool import Draft
from skill.experience.search import search
from tests.project.tree import CHECKOUT

TODAY = datetime.date(2026, 3, 1)
DRAFT = Draft(
    title="Few facts per reply slow learning",
    body="What we saw: more turns.",
    status=Status.CONJECTURE,
    world="travel",
    policy="small",
    knobs=("user.facts_per_reply",),
    evidence=("runs/a/steps.jsonl#40",),
)


def _add(folder: Path, **changes: Any) -> Path:
    return pool.add(folder, replace(DRAFT, **changes), today="2026-03-01", runs=folder.parent)


def _verdict(runs: Path, verdict: str) -> str:
    """Write a ledger with one outcome and return how it is cited."""
    path = runs / "a" / "ledger.jsonl"
    path.parent.mkdir(exist_ok=True)
    entry = ledger.append(path, EntryKind.OUTCOME, {"verdict": verdict}, step=70, now=0.0)
    return f"runs/a/ledger#{entry.seq}"


def test_what_is_added_is_read_back(tmp_path: Path) -> None:
    hostile = 'Quotes " and \\ and: colons # and [brackets]'
    path = _add(tmp_path / "lessons", title=hostile, world='a "b": c', evidence=("x # y", "yes"))
    (one,) = pool.read(path.parent).lessons
    assert (one.id, one.title, one.world) == (1, hostile, 'a "b": c')
    assert one.evidence == ("x # y", "yes") and one.recorded == TODAY


def test_numbers_go_up_and_files_are_never_touched_again(tmp_path: Path) -> None:
    folder = tmp_path / "lessons"
    first = _add(folder)
    before = first.read_bytes()
    (folder / "0005-broken.md").write_text("no front matter")
    second = _add(folder, title="Another", supersedes=1)
    assert [path.name for path in (first, second)] == [
        "0001-few-facts-per-reply-slow-learning.md",
        "0006-another.md",
    ]
    assert first.read_bytes() == before


def test_writers_at_the_same_time_get_numbers_of_their_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(lambda number: _add(tmp_path, title=f"Belief {number}"), range(24)))
    found = pool.read(tmp_path)
    assert found.refused == () and [one.id for one in found.lessons] == list(range(1, 25))
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".md"] * 24


def test_a_lesson_that_cannot_be_read_costs_itself_alone(tmp_path: Path) -> None:
    _add(tmp_path)
    (tmp_path / "0002-bad.md").write_bytes(b"\xff")
    (tmp_path / "0003-bad.md").write_text("---\n- list\n---\n# x\n")
    (tmp_path / "0001-again.md").write_text((tmp_path / _only(tmp_path)).read_text())
    found = pool.read(tmp_path)
    assert [one.id for one in found.lessons] == [1, 1]
    assert {finding.rule for finding in found.refused} == {
        "lesson.text",
        "front_matter",
        "lesson.id",
    }


def _only(folder: Path) -> str:
    return next(path.name for path in sorted(folder.glob("*.md")) if "few-facts" in path.name)


@pytest.mark.parametrize("verdict", ["help", "harm", "null"])
def test_a_verdict_on_file_supports_a_belief(tmp_path: Path, verdict: str) -> None:
    cited = _verdict(tmp_path, verdict)
    _add(tmp_path / "lessons", status=Status.SUPPORTED, evidence=(cited,), effect=0.1)
    assert pool.read(tmp_path / "lessons").lessons[0].effect == 0.1


@pytest.mark.parametrize("verdict", ["pending", "lagging", "inconclusive", "safety_rollback", ""])
def test_a_verdict_that_waits_supports_nothing(tmp_path: Path, verdict: str) -> None:
    cited = _verdict(tmp_path, verdict)
    with pytest.raises(Refused, match="no verdict that tells something"):
        _add(tmp_path / "lessons", status=Status.SUPPORTED, evidence=(cited,))
    assert not (tmp_path / "lessons").exists()


@pytest.mark.parametrize("cited", ["runs/a/ledger#7", "runs/../ledger#0", "runs/none/ledger#0"])
def test_a_verdict_that_is_not_there_supports_nothing(tmp_path: Path, cited: str) -> None:
    _verdict(tmp_path, "help")
    with pytest.raises(Refused):
        _add(tmp_path / "lessons", status=Status.SUPPORTED, evidence=(cited,))


def test_a_correction_supersedes_a_lesson_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no lesson 3 to supersede"):
        _add(tmp_path, supersedes=3)
    _add(tmp_path)
    _add(tmp_path, title="It was the turn limit", supersedes=1)
    found = pool.read(tmp_path)
    assert [one.id for one in found.standing()] == [2]
    (doubt,) = doubts(found.lessons[0], found, today=TODAY)
    assert doubt == "superseded by lesson 2: read that one"
    assert doubts(found.lessons[1], found, today=TODAY) == []


def test_old_lessons_and_lost_names_are_doubted(tmp_path: Path) -> None:
    _add(tmp_path, knobs=("user.lost_knob", "learner.bootstrap_truncated"), world="gone")
    found = pool.read(tmp_path)
    later = TODAY + datetime.timedelta(days=181)
    said = doubts(found.lessons[0], found, today=later, worlds=("travel",))
    assert [sentence.split(" ")[0] for sentence in said] == ["recorded", "speaks", "learnt"]
    assert "user.lost_knob" in said[1] and "bootstrap" not in said[1]


def test_lessons_that_point_in_different_directions_contradict(tmp_path: Path) -> None:
    cited = _verdict(tmp_path, "help")
    folder = tmp_path / "lessons"
    for title, world, effect in (
        ("Up", "travel", 0.1), ("Down", "any", -0.1), ("Elsewhere", "other", -0.2),
    ):  # fmt: skip
        _add(folder, title=title, world=world, effect=effect, status=Status.SUPPORTED,
             evidence=(cited,))  # fmt: skip
    found = pool.read(folder)
    assert [(a.title, b.title) for a, b in contradictions(found)] == [("Up", "Down")]
    assert any("lesson 2" in doubt for doubt in doubts(found.lessons[0], found, today=TODAY))
    _add(folder, title="Both", supersedes=2)
    assert contradictions(pool.read(folder)) == []


def test_a_question_in_other_words_finds_the_lesson(tmp_path: Path) -> None:
    _add(tmp_path)
    _add(tmp_path, title="Entropy bonus lags behind its window", knobs=("agent.entropy_coeff",))
    _add(tmp_path, title="Dialogues end at the turn limit", knobs=("environment.max_steps",))
    found = pool.read(tmp_path)
    for question, expected in (
        ("how many facts in a reply", 1),
        ("entropy coefficient seems to lag", 2),
        ("dialogue ending at turn limits", 3),
    ):
        assert search(found, question)[0].lesson.id == expected
    assert search(found, "kubernetes cluster") == []
    assert [hit.lesson.id for hit in search(found, "", knob="agent.entropy_coeff")] == [2]
    assert len(search(found, "")) == 3


def test_scope_comes_before_words_and_what_stands_before_what_was_corrected(tmp_path: Path) -> None:
    _add(tmp_path, world="intention")
    _add(tmp_path)
    _add(tmp_path, supersedes=2)
    hits = search(pool.read(tmp_path), "facts per reply", world="travel", policy="small")
    assert [(hit.lesson.id, hit.in_scope) for hit in hits] == [(3, True), (1, False), (2, True)]


def test_the_index_has_a_row_for_each_lesson(tmp_path: Path) -> None:
    _add(tmp_path, title="A | pipe")
    _add(tmp_path, supersedes=1)
    index.write(pool.read(tmp_path), tmp_path / "INDEX.md")
    rows = (tmp_path / "INDEX.md").read_text().splitlines()[-2:]
    assert rows[0].startswith("| 0001 | A / pipe | conjecture, superseded by 2 | travel | small |")
    assert all(row.count("|") == 8 for row in rows)


def test_the_lessons_of_this_repository_can_be_read_and_are_indexed() -> None:
    found = pool.read(CHECKOUT / "experience" / "lessons")
    assert found.refused == () and len(found.lessons) >= 2
    assert (CHECKOUT / "experience" / "INDEX.md").read_text() == index.render(found)
    assert search(found, "dialogues are cut by the turn limit", world="travel")[0].lesson.id == 1
