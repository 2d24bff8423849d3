"""A finding is one sentence with its place, and plain JSON; a refusal is never without one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gate.contract.findings import LONGEST_QUOTED_TEXT, Finding, Refused, Severity


def _finding(**fields: Any) -> Finding:
    return Finding("knobs.range", Severity.ERROR, "x is 2, above 1.", "Write 1.", **fields)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "x is 2, above 1. Write 1."),
        ({"file": "a.yaml"}, "a.yaml: x is 2, above 1. Write 1."),
        ({"file": "a.yaml", "line": 3, "column": 4}, "a.yaml:3:4: x is 2, above 1. Write 1."),
    ],
)
def test_a_finding_reads_as_one_line(fields: dict[str, Any], line: str) -> None:
    assert str(_finding(**fields)) == line


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (0.5, 0.5),
        (True, True),
        (None, None),
        ({"a": (1, float("nan"))}, {"a": [1, "nan"]}),
        ({1: Severity.ERROR}, {"1": "error"}),
        (b"x", "b'x'"),
        ("x" * 500, "x" * LONGEST_QUOTED_TEXT + "…"),
    ],
)
def test_any_value_becomes_plain_json(value: Any, plain: Any) -> None:
    record = _finding(value=value).to_json()
    assert record["value"] == plain
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_a_finding_is_read_back_from_its_json() -> None:
    finding = _finding(file="a.yaml", line=3, column=4, path="a.b", value=2, limit=[1])
    assert Finding.from_json(finding.to_json()) == finding


def test_a_refusal_lists_its_findings_one_a_line() -> None:
    refused = Refused(iter([_finding(), _finding(file="a.yaml")]))
    assert str(refused).split("\n") == [str(finding) for finding in refused.findings]


def test_a_refusal_without_a_reason_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Refused(())
