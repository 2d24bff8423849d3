"""facts_per_reply was raised until the reference answer stood in one reply of 837 characters."""

from __future__ import annotations

from pathlib import Path

from skill.diagnosis.detectors import DETECTORS
from tests import candidates
from tests.incidents.faulty_users import faulty, recites
from tests.skill import recorded
from trainer.episode import Voice
from trainer.probe.reference import likeness
from trainer.task import Task
from trainer.users.seam import UserReply, UserState
from trainer.worlds import catalog

LEAKS = ("reply_length", "facts_per_reply", "repeats", "overlap")
KINDS = sorted({fact.kind for task in catalog.tasks("colbench", "train") for fact in task.facts})


def test_three_facts_in_a_reply_are_refused_with_the_share_that_they_tell(tmp_path: Path) -> None:
    asked = candidates.request(
        tmp_path, "colbench", old={"user.facts_per_reply": 2}, new={"user.facts_per_reply": 3}
    )
    (leak,) = candidates.errors(candidates.probed(asked, "overlap"))
    assert (leak.rule, leak.path, leak.limit) == ("probe.overlap", "user.facts_per_reply", 0.6)
    assert isinstance(leak.value, float) and leak.value >= 0.6


def test_two_facts_in_a_reply_are_allowed(tmp_path: Path) -> None:
    asked = candidates.request(tmp_path, "colbench", new={"user.facts_per_reply": 2})
    assert not candidates.errors(candidates.probed(asked, *LEAKS))


def test_a_reply_of_837_characters_is_refused_by_length_and_by_what_it_holds(
    tmp_path: Path,
) -> None:
    chatty = {"user.facts_per_reply": 2, "user.max_reply_chars": 4000}
    asked = candidates.request(tmp_path, "colbench", new=chatty, alone=True)
    report = candidates.probed(asked, *LEAKS, make_user=faulty(recites(*KINDS, length=837)))
    (long,) = candidates.errors(report, "reply_length")
    assert (long.value, long.limit) == (837, 400)
    (leak,) = candidates.errors(report, "overlap")
    assert "the reference answer" in leak.message


def test_what_leaked_before_is_a_warning(tmp_path: Path) -> None:
    chatty = {"user.max_reply_chars": 4000}
    asked = candidates.request(tmp_path, "colbench", old=chatty, new=chatty)
    report = candidates.probed(asked, *LEAKS, make_user=faulty(recites(*KINDS, length=837)))
    assert not candidates.errors(report)
    assert all(one.message.endswith("It was so before.") for one in report.findings)
    assert {one.rule for one in report.findings} >= {"probe.reply_length", "probe.overlap"}


def test_the_detector_tells_a_user_that_recites_the_answer() -> None:
    answer = "def late_fee(days): return max(0, days - 2) * 0.35 if days < 30 else 12"
    reply = f"You want {answer}".ljust(837, ".")
    leaking = [
        recorded.episode(
            index,
            [
                recorded.agent("[action] What is the answer?", 0),
                recorded.user(reply, 0, "F1", "F2", "F3"),
                recorded.agent(f"[answer] {answer}", 1),
            ],
        )
        for index in range(12)
    ]
    window = recorded.window(episodes=(*recorded.mixed(52), *leaking))
    found = DETECTORS["user_leak"](window)
    assert found is not None
    assert "12 of 64" in found.sentence


def test_every_shipped_task_of_the_incident_has_a_reference_that_cannot_be_recited() -> None:
    tasks: tuple[Task, ...] = catalog.tasks("colbench", "train")
    for task in tasks:
        answer = str(task.payload["reference"])
        reply = UserReply(
            f"Well. You want {answer} ok?", Voice.SYMBOLIC, UserState(), rule="reveal"
        )
        like = likeness(task, reply)
        assert like.share >= 0.6 or like.in_a_row >= 40, task.id
        assert len(answer) >= 24
