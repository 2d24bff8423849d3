"""Knobs as values: what a world sees, what changed, and what can never be held."""

from __future__ import annotations

from typing import Any

import pytest

from gate.contract import knobs
from gate.contract.knobs import ABSENT, KnobChange


def _values(**changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    values = knobs.defaults().to_json()
    for file, entries in changes.items():
        values[file] |= entries
    return values


def test_a_world_sees_its_override_and_the_others_the_files_value() -> None:
    desired = knobs.from_values(
        _values(user={"worlds": {"travel": {"facts_per_reply": 3}}}), worlds=["travel", "tau2"]
    )
    assert desired.get("user.facts_per_reply") == 1
    assert desired.get("user.facts_per_reply", "travel") == 3
    assert desired.get("user.facts_per_reply", "tau2") == 1
    assert desired.file("user", "travel")["facts_per_reply"] == 3
    assert list(desired.file("user")) == list(knobs.keys("user"))


def test_what_a_reader_does_with_a_value_does_not_change_the_knobs() -> None:
    desired = knobs.defaults()
    desired.get("user.reveal_kinds").append("shape")
    desired.file("user")["reveal_kinds"].append("shape")
    desired.to_json()["user"]["reveal_kinds"].append("shape")
    assert desired.get("user.reveal_kinds") == ["*"]


@pytest.mark.parametrize("path", ["user.entropy_coef", "user", "users.persona", "user.worlds"])
def test_an_unknown_knob_cannot_be_read(path: str) -> None:
    with pytest.raises(KeyError, match="is no knob"):
        knobs.defaults().get(path)


def test_an_empty_override_is_no_difference() -> None:
    desired = knobs.from_values(_values(user={"worlds": {"travel": {}}}), worlds=["travel"])
    assert desired == knobs.defaults()
    assert desired.digest == knobs.defaults().digest


def test_a_null_override_is_a_value_and_not_its_absence() -> None:
    old = knobs.from_values(_values(user={"volunteer_after": 3}), worlds=["travel"])
    override = {"volunteer_after": 3, "worlds": {"travel": {"volunteer_after": None}}}
    new = knobs.from_values(_values(user=override), worlds=["travel"])
    (change,) = knobs.diff(old, new)
    assert change == KnobChange("user.worlds.travel.volunteer_after", ABSENT, None)
    assert (change.knob, change.world) == ("user.volunteer_after", "travel")
    assert change.to_json() == {"path": "user.worlds.travel.volunteer_after", "new": None}
    assert KnobChange.from_json(change.to_json()) == change
    assert str(change.old) == "no override"
    assert knobs.apply(old, [change]).get("user.volunteer_after", "travel") is None
    (back,) = knobs.diff(new, old)
    assert knobs.apply(new, [back]) == old


def test_a_change_of_the_files_own_value_names_no_world() -> None:
    change = KnobChange("agent.gamma", 1.0, 0.95)
    assert (change.knob, change.world) == ("agent.gamma", None)
    assert knobs.apply(knobs.defaults(), [change]).get("agent.gamma") == 0.95


def test_a_mix_over_worlds_can_be_applied() -> None:
    change = KnobChange("environment.task_mix", {}, {"travel": 1})
    assert knobs.apply(knobs.defaults(), [change]).get("environment.task_mix") == {"travel": 1.0}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (KnobChange("agent.gamma", 1.0, 2.0), "knobs.range"),
        (KnobChange("agent.gamma", 1.0, ABSENT), "knobs.missing"),
        (KnobChange("agent.gama", 1.0, 0.9), "knobs.unknown"),
        (KnobChange("agent.worlds.travel.gamma", ABSENT, 0.9), "knobs.one-for-all-worlds"),
        (KnobChange("environment.task_mix", {}, 3), "knobs.type"),
    ],
)
def test_an_invalid_change_is_refused_whole(change: KnobChange, rule: str) -> None:
    with pytest.raises(knobs.Refused) as caught:
        knobs.apply(knobs.defaults(), [KnobChange("agent.kl_coeff", 0.0, 0.01), change])
    assert [finding.rule for finding in caught.value.findings] == [rule]


def test_a_change_to_no_file_is_a_mistake_of_the_program() -> None:
    with pytest.raises(KeyError, match="no knob file"):
        knobs.apply(knobs.defaults(), [KnobChange("agents.gamma", 1.0, 0.9)])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400])
def test_no_number_that_is_not_finite_is_held(value: float) -> None:
    with pytest.raises(knobs.Refused, match="not a finite number"):
        knobs.from_values(_values(agent={"gamma": value}), worlds=())


def test_no_text_with_control_characters_is_held() -> None:
    with pytest.raises(knobs.Refused, match="NUL"):
        knobs.from_values(_values(user={"persona": "a\0b"}), worlds=())


def test_values_of_no_file_and_of_another_kind_are_refused() -> None:
    with pytest.raises(knobs.Refused) as caught:
        knobs.from_values({"user": {}}, worlds=())
    lacking = {finding.path for finding in caught.value.findings}
    assert lacking == set(knobs.specs())
    with pytest.raises(knobs.Refused, match="no knob or part named 1"):
        knobs.from_values(_values(agent={1: 2}), worlds=())  # type: ignore[dict-item]


def test_a_file_that_is_left_out_of_a_map_lacks_all_its_knobs_but_no_other_file_does() -> None:
    values = knobs.defaults().to_json()
    del values["agent"]
    with pytest.raises(knobs.Refused) as caught:
        knobs.from_values(values, worlds=())
    assert {finding.file for finding in caught.value.findings} == {"agent.yaml"}


def test_a_file_that_is_no_map_holds_no_knobs() -> None:
    values: dict[str, Any] = {**knobs.defaults().to_json(), "agent": [1]}
    with pytest.raises(knobs.Refused, match="holds no knobs"):
        knobs.from_values(values, worlds=())
