"""A lesson is read whole or refused with a reason, and never claims more than its evidence."""

from __future__ import annotations

import datetime

import pytest

from gate.contract.findings import Refused
from skill.experience import lesson
from skill.experience.lesson import Interval, Status

GOOD = """---
id: 7
status: supported
recorded: 2026-03-01
scope: {world: travel, policy: any}
knobs: [user.facts_per_reply]
evidence: ["runs/a/ledger#12", "runs/a/episodes/000160.jsonl#000160-31"]
effect: -0.12
interval: [-0.18, -0.06]
window: steps 40-70
supersedes: 3
---
# Three facts per reply leak the answer

What we saw.
"""


def test_every_part_of_a_lesson_is_read() -> None:
    one = lesson.parse("0007-three-facts.md", GOOD)
    assert (one.id, one.title, one.status) == (
        7, "Three facts per reply leak the answer", Status.SUPPORTED,
    )  # fmt: skip
    assert one.recorded == datetime.date(2026, 3, 1)
    assert (one.world, one.policy, one.knobs) == ("travel", "any", ("user.facts_per_reply",))
    assert (one.effect, one.interval, one.window) == (-0.12, Interval(-0.18, -0.06), "steps 40-70")
    assert (one.supersedes, one.body) == (3, "What we saw.")
    assert one.verdicts == ("runs/a/ledger#12",)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("---\nid", "id", "front_matter"),
        ("id: 7", "id: 8", "id"),
        ("id: 7", "id: true", "id"),
        ("id: 7", "id: 7\nid: 7", "front_matter"),
        ("id: 7", "id: &a 7", "front_matter"),
        ("id: 7", "id: !!python/object:os.system 7", "front_matter"),
        ("status: supported", "status: proven", "status"),
        ("status: supported", "state: supported", "missing"),
        ("recorded: 2026-03-01", "recorded: yesterday", "recorded"),
        ("{world: travel, policy: any}", "travel", "scope"),
        ("{world: travel, policy: any}", "{world: travel}", "scope"),
        ("[user.facts_per_reply]", "user.facts_per_reply", "knobs"),
        ('["runs/a/ledger#12", ', '["runs/a/', "front_matter"),
        ("effect: -0.12", "effect: .nan", "effect"),
        ("[-0.18, -0.06]", "[-0.06, -0.18]", "interval"),
        ("window: steps 40-70", "window: [40, 70]", "window"),
        ("supersedes: 3", "supersedes: 7", "supersedes"),
        ("supersedes: 3", "surprise: 3", "unknown"),
        ("# Three", "Three", "title"),
        ("runs/a/ledger#12", "runs/a/steps.jsonl#12", "verdict"),
        ("runs/a/ledger#12", "I am sure", "verdict"),
    ],
)
def test_a_faulty_lesson_is_refused_by_name(old: str, new: str, rule: str) -> None:
    assert old in GOOD
    with pytest.raises(Refused) as refused:
        lesson.parse("0007-three-facts.md", GOOD.replace(old, new, 1))
    assert rule in [finding.rule.removeprefix("lesson.") for finding in refused.value.findings]
    assert all(finding.next_step for finding in refused.value.findings)


@pytest.mark.parametrize("name", ["7-x.md", "0007.md", "0007-X.md", "../0007-x.md", "0007-x.txt"])
def test_a_lesson_has_a_numbered_name(name: str) -> None:
    with pytest.raises(Refused):
        lesson.parse(name, GOOD)


def test_a_conjecture_needs_no_verdict_and_carries_no_effect() -> None:
    hunch = GOOD.replace("supported", "conjecture").replace("runs/a/ledger#12", "runs/a/steps#1")
    with pytest.raises(Refused, match=r"an effect needs a verdict"):
        lesson.parse("0007-x.md", hunch)
    plain = hunch.replace("effect: -0.12\n", "").replace("interval: [-0.18, -0.06]\n", "")
    assert lesson.parse("0007-x.md", plain).status.grade.startswith("hunch")


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(Refused) as refused:
        lesson.parse("0007-x.md", GOOD.replace("knobs: [", "knobs: ["[:-1] + "\t["))
    assert all(finding.file == "0007-x.md" for finding in refused.value.findings)
    with pytest.raises(Refused) as refused:
        lesson.parse("0007-x.md", GOOD.replace("id: 7", "id: *x"))
    assert refused.value.findings[0].line == 2
