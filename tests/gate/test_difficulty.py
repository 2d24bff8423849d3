"""Tasks get harder only after twenty steps at a mean success of .80 or more."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gate.contract import knobs
from gate.contract.findings import Severity
from gate.contract.knobs import Harder
from gate.contract.ledger import Author
from gate.rules import difficulty
from gate.rules.change_set import ChangeSet, Position
from tests.gate.changes import change_set

RAISE = {"environment.max_steps": 17}
LOWER = {"environment.max_steps": 15}


def refused(new: dict[str, Any], history: list[float], **evidence: Any) -> bool:
    findings = list(difficulty.check(change_set(new, success_history=history, **evidence)))
    assert all(finding.severity is Severity.ERROR for finding in findings)
    return bool(findings)


def test_harder_is_refused_below_the_floor() -> None:
    assert refused(RAISE, [0.79] * 20)


def test_harder_is_allowed_at_the_floor_however_its_mean_is_rounded() -> None:
    assert not refused(RAISE, [0.8] * 20)
    assert not refused(RAISE, [0.7, 0.9] * 10)


def test_nineteen_steps_are_not_enough_data() -> None:
    findings = list(difficulty.check(change_set(RAISE, success_history=[0.8] * 19)))
    assert "not enough data: anchors were played in 19 of 20 steps" in findings[0].message


def test_a_step_without_a_number_is_not_enough_data() -> None:
    findings = list(difficulty.check(change_set(RAISE, success_history=[0.9] * 19 + [math.nan])))
    assert "not enough data" in findings[0].message


def test_only_the_last_twenty_steps_count() -> None:
    assert not refused(RAISE, [0.0] * 30 + [0.8] * 20)
    assert refused(RAISE, [1.0] * 30 + [0.79] * 20)


@pytest.mark.parametrize("history", [[], [0.0] * 20, [math.nan] * 20])
def test_easier_is_allowed_at_any_success(history: list[float]) -> None:
    assert not refused(LOWER, history)


@pytest.mark.parametrize(
    "path", [path for path, spec in knobs.specs().items() if spec.harder is not Harder.NONE]
)
def test_every_knob_with_a_direction_is_held_to_it(path: str) -> None:
    spec = knobs.specs()[path]
    low, high = spec.low, spec.high
    assert low is not None
    assert high is not None
    old, new = (low, high) if spec.harder is Harder.UP else (high, low)
    harder = change_set({path: new}, old={path: old})
    easier = change_set({path: old}, old={path: new})
    assert [finding.path for finding in difficulty.check(harder)] == [path]
    assert list(difficulty.check(easier)) == []


def test_an_override_that_ends_can_make_one_world_harder() -> None:
    easy = {"user.worlds.travel.match_threshold": 0.1}
    before = change_set(easy).new
    after = knobs.defaults()
    ended = ChangeSet(old=before, new=after, changes=knobs.diff(before, after))
    assert [finding.path for finding in difficulty.check(ended)] == [
        "user.worlds.travel.match_threshold"
    ]


@pytest.mark.parametrize("author", list(Author))
def test_it_binds_everybody(author: Author) -> None:
    assert refused(RAISE, [0.5] * 20, author=author)


def test_the_finding_is_a_next_step() -> None:
    places = {"environment.max_steps": Position("knobs/environment.yaml", 12, 12)}
    found = next(
        iter(difficulty.check(change_set(RAISE, success_history=[0.62] * 20, positions=places)))
    )
    assert found.message == (
        "environment.max_steps: 16 -> 17 makes tasks harder, but recent success of the anchors is "
        "0.62 over 20 steps; it must reach 0.80."
    )
    assert found.next_step == "Wait, or make an easier change first."
    assert (found.place, found.value, found.limit) == ("knobs/environment.yaml:12:12", 17, 0.8)
