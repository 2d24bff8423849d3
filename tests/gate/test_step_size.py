"""One write moves a knob only as far as its schema says; to a person that is advice."""

from __future__ import annotations

from typing import Any

import pytest

from gate.contract.findings import Severity
from gate.contract.ledger import Author
from gate.rules import step_size
from tests.gate.changes import change_set


def severities(new: dict[str, Any], old: dict[str, Any], author: Author) -> list[Severity]:
    changes = change_set(new, old=old, author=author)
    return [finding.severity for finding in step_size.check(changes)]


CASES = [
    ("agent.actor_lr", 1e-6, 1e-5, 1.1e-5),
    ("agent.actor_lr", 1e-5, 1e-6, 9e-7),
    ("environment.max_steps", 16, 21, 22),
    ("user.match_threshold", 0.6, 0.7, 0.71),
    ("user.max_reveals", 2, 3, 4),
]


@pytest.mark.parametrize(("path", "old", "near", "far"), CASES)
def test_a_step_of_the_full_size_passes_and_a_larger_one_is_refused(
    path: str, old: float, near: float, far: float
) -> None:
    assert severities({path: near}, {path: old}, Author.META_AGENT) == []
    assert severities({path: far}, {path: old}, Author.META_AGENT) == [Severity.ERROR]


@pytest.mark.parametrize("author", [Author.PERSON, Author.UNATTRIBUTED])
def test_a_person_is_told_and_not_stopped(author: Author) -> None:
    assert severities({"agent.actor_lr": 1e-4}, {}, author) == [Severity.WARNING]


def test_each_world_is_measured_from_what_is_in_force_there() -> None:
    old = {"user.worlds.travel.match_threshold": 0.9}
    new = {"user.worlds.travel.match_threshold": 0.7}
    assert severities(new, old, Author.META_AGENT) == [Severity.ERROR]
    assert severities({"user.worlds.travel.match_threshold": 0.5}, {}, Author.META_AGENT) == []


def test_values_without_a_distance_may_follow_any_other() -> None:
    assert severities({"agent.total_steps": 5}, {}, Author.META_AGENT) == []
    assert severities({"user.persona": "terse"}, {}, Author.META_AGENT) == []
