"""Grading compares plain values; the faults of the public verifier are kept in `strict` alone."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from trainer.worlds.colbench import grading, reading
from trainer.worlds.colbench.grading import Agreement
from trainer.worlds.sandbox.program import CallResult, Namespace, Outcome


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        (1, 1.0, Agreement.EQUAL),
        (True, 1, Agreement.EQUAL),
        (0.1 + 0.2, 0.3, Agreement.TOLERANT),
        (0.3 * (1 + 5e-10), 0.3, Agreement.TOLERANT),
        (0.3 * (1 + 5e-9), 0.3, Agreement.DIFFERENT),
        (1 + 1e-15, 1, Agreement.DIFFERENT),
        (0.0, 1e-300, Agreement.DIFFERENT),
        ([0.1 + 0.2, "a"], [0.3, "a"], Agreement.TOLERANT),
        ((0.1 + 0.2,), [0.3], Agreement.DIFFERENT),
        ([0.1 + 0.2], [0.3, 0.3], Agreement.DIFFERENT),
        ({"a": (0.1 + 0.2,)}, {"a": (0.3,)}, Agreement.TOLERANT),
        ({"a": 0.1 + 0.2}, {"b": 0.3}, Agreement.DIFFERENT),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, Agreement.EQUAL),
        ([1, 2], (1, 2), Agreement.DIFFERENT),
        (None, None, Agreement.EQUAL),
        (math.nan, math.nan, Agreement.DIFFERENT),
        (math.inf, math.inf, Agreement.EQUAL),
        ("1", 1, Agreement.DIFFERENT),
        (Decimal("sNaN"), 1, Agreement.DIFFERENT),
    ],
)
def test_outputs_are_compared_by_equality_and_floats_with_a_slack(
    output: Any, reference: Any, expected: Agreement
) -> None:
    assert grading.agreement(output, reference) is expected


def test_only_values_pass_and_none_only_under_ours() -> None:
    none, one = CallResult(Outcome.VALUE), CallResult(Outcome.VALUE, 1)
    raised = CallResult(Outcome.RAISED, detail="ValueError")
    assert grading.passes_fresh(none, none) is Agreement.EQUAL
    assert not grading.passes_strict(none, none)
    assert grading.passes_strict(one, one)
    assert grading.passes_fresh(raised, raised) is Agreement.DIFFERENT
    assert not grading.passes_strict(CallResult(Outcome.VALUE, 0.1 + 0.2), _value(0.3))


def _value(value: Any) -> CallResult:
    return CallResult(Outcome.VALUE, value)


SOURCE = "def f(x):\n    return x\n"


@pytest.mark.parametrize(
    ("answer", "ours", "public"),
    [
        (SOURCE, SOURCE, SOURCE),
        (f"```python\n{SOURCE}```", SOURCE, f"\n{SOURCE}"),
        (f"Here:\n```\n{SOURCE}```\nBye.", SOURCE, f"\n{SOURCE}"),
        (f"```py\n{SOURCE}```", SOURCE, f"py\n{SOURCE}"),
        (f"```Python\n{SOURCE}```", SOURCE, f"Python\n{SOURCE}"),
        (f"```python\n{SOURCE}", SOURCE, f"\n{SOURCE}"),
        (f"# import os\n{SOURCE}", f"# import os\n{SOURCE}", None),
        ("from sys import path", "from sys import path", None),
        ("def on_exit(x): pass", "def on_exit(x): pass", None),
        ("", "", ""),
    ],
)
def test_code_is_read_by_both_rules(answer: str, ours: str, public: str | None) -> None:
    assert reading.code(answer) == ours
    assert reading.strict_code(answer) == public


def test_the_marker_and_output_cut_a_message() -> None:
    assert reading.spoken("a OUTPUT: b OUTPUT: c") == "b"
    assert reading.spoken(" a ") == "a"
    assert reading.answer_in("so I WANT TO ANSWER: x I WANT TO ANSWER: y") == (
        "x I WANT TO ANSWER: y"
    )
    assert reading.answer_in("I want to answer: x") is None


PAYLOAD = {"reference": SOURCE, "calls": ["f(1)", "f(2)"]}


def test_strict_scores_references_on_every_python() -> None:
    """Public fault 1: from Python 3.13 on, the public verifier gives every reference zero."""
    given = grading.grade(PAYLOAD, SOURCE, total_s=8.0)
    assert (given.fresh, given.strict) == (1.0, 1.0)


def test_grading_works_outside_the_main_thread() -> None:
    """Public fault 6: there, the public verifier's alarm raises."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        graded = pool.map(lambda _: grading.grade(PAYLOAD, SOURCE, total_s=8.0), range(4))
    assert {(given.fresh, given.strict) for given in graded} == {(1.0, 1.0)}


def test_a_reference_has_a_time_limit_too() -> None:
    """Public fault 7: the public verifier waits for a reference for ever."""
    (result,) = grading.run_reference("def f():\n    while True: pass", ("f()",), Namespace.FRESH)
    assert result.outcome is Outcome.TIMEOUT


def test_a_reference_runs_once_for_its_outputs() -> None:
    again = grading.references(PAYLOAD, Namespace.FRESH)
    assert again is grading.references(dict(PAYLOAD), Namespace.FRESH)
    assert [result.value for result in again] == [1, 2]
