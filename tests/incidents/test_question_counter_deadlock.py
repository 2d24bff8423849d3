"""The counter of questions missed turns that both ask and answer: 41% of episodes deadlocked."""

from __future__ import annotations

from pathlib import Path

import pytest

from skill.diagnosis.detectors import DETECTORS
from tests import candidates
from tests.incidents.faulty_users import faulty, misses_both
from tests.skill import recorded
from trainer.probe.report import Report

MADE = "        self._state = TravelState()"
SAYING = "                return StepResult(say=action.content)"
CHOOSING = "        aspect = aspect_of(self._payload, named[0])"

COUNTED = f"{MADE}\n        self._questions = 0"
MISSING = (
    "                if '?' in action.content and 'I found' not in action.content:\n"
    f"                    self._questions += 1\n{SAYING}"
)
REPAIRED = f"                self._questions += '?' in action.content\n{SAYING}"
WANTED = (
    "        if self._questions < 2:\n"
    "            return StepResult('Ask me two questions first.', events=('choice_repeated',))\n"
    f"{CHOOSING}"
)


def edits(saying: str) -> dict[str, dict[str, str]]:
    return {"env.py": {MADE: COUNTED, SAYING: saying, CHOOSING: WANTED}}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("broken")
    asked = candidates.request(folder, "travel", edits=edits(MISSING))
    return candidates.probed(asked, "solvable", "question_counts")


def test_a_counter_in_code_that_misses_such_turns_is_refused(broken: Report) -> None:
    (deadlock,) = candidates.errors(broken, "question_counts")
    assert (deadlock.value, deadlock.limit) == (1.0, 0)
    assert "cannot be solved when every question comes with an offer" in deadlock.message


def test_the_oracle_alone_would_not_have_told(broken: Report) -> None:
    assert broken.measured["solvable"] == {"travel": 0.0}


def test_the_repair_in_code_passes(tmp_path: Path) -> None:
    asked = candidates.request(tmp_path, "travel", edits=edits(REPAIRED), old_edits=edits(MISSING))
    report = candidates.probed(asked)
    assert not candidates.errors(report)
    assert report.measured["question_counts"] == {"travel": 0.0}


def test_a_user_that_does_not_count_such_turns_is_refused(tmp_path: Path) -> None:
    asked = candidates.request(tmp_path, "travel", new={"user.min_questions": 3}, alone=True)
    report = candidates.probed(asked, "question_counts", make_user=faulty(misses_both))
    (uncounted,) = candidates.errors(report, "question_counts")
    assert uncounted.value == 1.0
    assert "not counted as questions" in uncounted.message


def test_rules_that_answer_only_plain_questions_are_refused(tmp_path: Path) -> None:
    deaf = {
        "user.yaml": {
            "when: {act: [ask, both], match: [open]}": "when: {act: [ask], match: [open]}"
        }
    }
    asked = candidates.request(tmp_path, "travel", edits=deaf)
    report = candidates.probed(asked, "question_counts")
    told = candidates.errors(report, "question_counts")
    assert any("answered alone and not beside an offer" in one.message for one in told)


def test_more_questions_than_half_of_the_turns_are_refused(tmp_path: Path) -> None:
    asked = candidates.request(
        tmp_path, "travel", old={"user.min_questions": 8}, new={"user.min_questions": 9}
    )
    (deadlock,) = candidates.errors(candidates.probed(asked, "deadlock"))
    assert (deadlock.path, deadlock.value, deadlock.limit) == ("user.min_questions", 9, 8)


def test_the_detector_tells_41_percent() -> None:
    refusal = "Please ask me more first."
    stuck = [
        turn
        for at in range(6)
        for turn in (
            recorded.agent(f"[action] I found H{at}. Which room {at}?", at),
            recorded.user(refusal, at, act="both", match="none"),
        )
    ]
    lost = [recorded.failure(index, stuck, stop="out_of_steps") for index in range(41)]
    window = recorded.window(episodes=(*(recorded.episode(i) for i in range(59)), *lost))
    found = DETECTORS["deadlock"](window)
    assert found is not None
    assert "41 of 100" in found.sentence
