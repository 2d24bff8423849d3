"""Our reading of JSON Schema accepts and refuses exactly what the `jsonschema` package does."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.contract import knobs
from gate.contract.knobs.check import check
from tests.contract.knobs import material

THOROUGH = settings(deadline=None, max_examples=80)

STRANGE_NAMES = ("travel", "id", "persona")

STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 70),
    st.floats(-2, 20),
    st.sampled_from(["", "*", "yes", "80%", "plain", "pause", "x" * 250, "0.5"]),
    st.lists(st.sampled_from([1, "a", "b", {"id": "a"}, None]), max_size=3),
    st.dictionaries(st.sampled_from(STRANGE_NAMES), st.integers(-1, 2), max_size=2),
)


def _ours_alone(finding: knobs.Finding) -> bool:
    """Return whether JSON Schema has no word for what was refused."""
    twice = finding.rule == "knobs.unique" and str(finding.path).startswith("reward.")
    return twice or finding.rule == "knobs.weights"


def _accepted_by_the_package(file: str, values: Any) -> bool:
    return jsonschema.Draft202012Validator(dict(knobs.schema(file))).is_valid(values)


@pytest.mark.parametrize("file", knobs.FILES)
def test_each_schema_is_a_valid_schema_that_accepts_its_defaults(file: str) -> None:
    jsonschema.Draft202012Validator.check_schema(dict(knobs.schema(file)))
    assert _accepted_by_the_package(file, dict(knobs.defaults().values[file]))


@pytest.mark.parametrize("file", knobs.FILES)
@THOROUGH
@given(data=st.data())
def test_one_strange_value_is_judged_alike(file: str, data: st.DataObject) -> None:
    values = data.draw(material.files(file))
    target, key = values, data.draw(st.sampled_from([*knobs.keys(file), "worlds", "other"]))
    if values["worlds"] and data.draw(st.booleans()):
        target = values["worlds"][next(iter(values["worlds"]))]
    target[key] = data.draw(STRANGE)
    _, faults = check(file, values, worlds=(*material.WORLDS, *STRANGE_NAMES))
    ours = {fault.finding.rule for fault in faults if not _ours_alone(fault.finding)}
    assert _accepted_by_the_package(file, values) == (ours == set()), ours


@THOROUGH
@given(material.files("reward"), st.data())
def test_a_rule_with_a_part_missing_or_too_many_is_judged_alike(
    values: dict[str, Any], data: st.DataObject
) -> None:
    rule = {"id": "a", "event": "e", "value": 0.1}
    rule.pop(data.draw(st.sampled_from(["id", "event", "value", "none"])), None)
    rule |= data.draw(st.dictionaries(st.sampled_from(["once", "where", "when"]), STRANGE))
    values["shaping"] = [rule]
    _, faults = check("reward", values, worlds=material.WORLDS)
    assert _accepted_by_the_package("reward", values) == (faults == [])


@pytest.mark.parametrize("file", knobs.FILES)
def test_a_missing_knob_is_judged_alike(file: str) -> None:
    for key in knobs.keys(file):
        values = dict(knobs.defaults().values[file])
        del values[key]
        assert check(file, values, worlds=())[1] != []
        assert not _accepted_by_the_package(file, values)


def test_overrides_are_declared_for_exactly_the_knobs_that_may_differ_between_worlds() -> None:
    for file in knobs.FILES:
        declared = knobs.schema(file)["properties"]["worlds"]["additionalProperties"]["properties"]
        allowed = {key for key in knobs.keys(file) if knobs.specs()[f"{file}.{key}"].worlds}
        assert set(declared) == allowed
        assert declared == {key: {"$ref": f"#/properties/{key}"} for key in allowed}


def test_every_knob_is_required() -> None:
    for file in knobs.FILES:
        assert knobs.schema(file)["required"] == list(knobs.keys(file))


def test_reading_knobs_loads_no_schema_library() -> None:
    code = "import sys; from gate.contract import knobs; print('jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
