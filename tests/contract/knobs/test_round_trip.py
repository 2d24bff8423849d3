"""Whatever is valid is accepted: random valid knobs, written as files, are read back equal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from gate.contract import knobs
from gate.contract.knobs import check
from tests.contract.knobs import material

NO_DEADLINE = settings(deadline=None, max_examples=40)


@NO_DEADLINE
@given(material.all_files())
def test_random_valid_knobs_rendered_and_parsed_back_are_equal(
    values: dict[str, dict[str, Any]],
) -> None:
    desired = knobs.from_values(values, worlds=material.WORLDS)
    for file in knobs.FILES:
        text = knobs.render(file, desired)
        parsed = knobs.parse(file, text, worlds=material.WORLDS)
        assert parsed.values == desired.values[file]


@NO_DEADLINE
@given(material.all_files())
def test_values_and_json_and_digest_agree(values: dict[str, dict[str, Any]]) -> None:
    desired = knobs.from_values(values, worlds=material.WORLDS)
    again = knobs.from_values(desired.to_json(), worlds=material.WORLDS)
    assert again == desired
    assert again.digest == desired.digest


@NO_DEADLINE
@given(material.all_files(), material.all_files())
def test_applying_the_difference_of_two_states_leads_from_one_to_the_other(
    before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]
) -> None:
    old = knobs.from_values(before, worlds=material.WORLDS)
    new = knobs.from_values(after, worlds=material.WORLDS)
    changes = knobs.diff(old, new)
    assert knobs.apply(old, changes) == new
    assert knobs.diff(new, new) == ()
    records = [change.to_json() for change in changes]
    assert tuple(knobs.KnobChange.from_json(record) for record in records) == changes


@pytest.mark.parametrize("file", knobs.FILES)
def test_the_starting_text_holds_the_defaults(file: str) -> None:
    parsed = knobs.parse(file, knobs.render_defaults(file), worlds=())
    assert parsed.values == knobs.defaults().values[file]
    assert check.check(file, dict(parsed.values), worlds=())[1] == []


@pytest.mark.parametrize("file", knobs.FILES)
def test_the_starting_text_is_read_the_same_by_an_older_yaml_reader(file: str) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML stands in for YAML 1.1 readers")
    read = yaml.safe_load(knobs.render_defaults(file))
    assert read == {
        key: value for key, value in knobs.defaults().values[file].items() if key in read
    }


def test_one_and_one_point_zero_are_one_value() -> None:
    values = knobs.defaults().to_json()
    values["agent"]["gamma"] = 1
    values["user"]["facts_per_reply"] = 1.0
    same = knobs.from_values(values, worlds=())
    assert same.digest == knobs.defaults().digest
