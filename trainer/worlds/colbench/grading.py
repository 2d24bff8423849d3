"""Grading: one answer's outputs against the reference's, under both scorings.

Code runs in `trainer.worlds.sandbox`; here only values meet, rebuilt from built-in types, so
nothing that an answer defines takes part in a comparison. A sandbox that fails raises: it says
nothing about the answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from trainer.worlds.sandbox import client, values
from trainer.worlds.sandbox.program import Bounds, CallResult, Namespace, Outcome, Program

from .reading import code, strict_code  # noqa: TID252 - the folder is loaded by path

RELATIVE = 1e-9
"""How far a float may lie from the reference's and still pass under `fresh`."""


class Agreement(StrEnum):
    """How an output compares with the reference's."""

    EQUAL = "equal"
    TOLERANT = "tolerant"
    """Equal but for floats that differ by less than `RELATIVE`."""
    DIFFERENT = "different"


@dataclass(frozen=True)
class Grade:
    """What an answer is worth under each scoring."""

    fresh: float = 0.0
    """Share of the calls passed, in [0, 1]."""
    strict: float = 0.0
    num_tolerant: int = 0
    sandboxed: bool = True


def agreement(output: Any, reference: Any) -> Agreement:
    """Compare two outputs; `True` equals 1 and NaN equals nothing, as in Python."""
    try:
        if output == reference:
            return Agreement.EQUAL
    except ArithmeticError:
        return Agreement.DIFFERENT  # a signalling NaN refuses to be compared
    return Agreement.TOLERANT if _close(output, reference) else Agreement.DIFFERENT


def passes_fresh(result: CallResult, reference: CallResult) -> Agreement:
    """Compare two calls under our rules: only values count, and None is a value."""
    if result.outcome is not Outcome.VALUE or reference.outcome is not Outcome.VALUE:
        return Agreement.DIFFERENT
    return agreement(result.value, reference.value)


def passes_strict(result: CallResult, reference: CallResult) -> bool:
    """Compare two calls under the public rules: equal, and not None."""
    if passes_fresh(result, reference) is not Agreement.EQUAL:
        return False
    return result.value is not None


def grade(
    payload: Mapping[str, Any], answer: str, *, total_s: float, refuse_unsandboxed: bool = False
) -> Grade:
    """Run an answer under both scorings.

    Args:
        payload: The task's `reference`, its `calls`, and the outputs of these where known.
        answer: The agent's words, fences included.
        total_s: Seconds for everything together.
        refuse_unsandboxed: True to fail where no kernel fence is to be had.

    Raises:
        SandboxError: if the sandbox cannot say what the code does.
    """
    calls = tuple(payload["calls"])
    bounds = Bounds(total_s=total_s / 2)
    fresh = Program(code(answer), calls, Namespace.FRESH, bounds, refuse_unsandboxed)
    ours = client.shared().evaluate(fresh)
    agreements = [
        passes_fresh(result, reference)
        for result, reference in zip(
            ours.results, references(payload, Namespace.FRESH), strict=True
        )
    ]
    num_passed = len(calls) - agreements.count(Agreement.DIFFERENT)
    given = Grade(
        fresh=num_passed / len(calls),
        num_tolerant=agreements.count(Agreement.TOLERANT),
        sandboxed=ours.sandboxed,
    )
    public = strict_code(answer)
    if public is None:
        return given
    theirs = client.shared().evaluate(replace(fresh, source=public, namespace=Namespace.STRICT))
    expected = references(payload, Namespace.STRICT)
    passed = map(passes_strict, theirs.results, expected)
    return replace(given, strict=sum(passed) / len(calls))


def references(payload: Mapping[str, Any], namespace: Namespace) -> Sequence[CallResult]:
    """Return what the reference does with each call: recorded, or found out once a process."""
    if "outputs" in payload:
        return [CallResult(Outcome.VALUE, values.decode(text)) for text in payload["outputs"]]
    return run_reference(payload["reference"], tuple(payload["calls"]), namespace)


@lru_cache(maxsize=4096)
def run_reference(
    reference: str, calls: tuple[str, ...], namespace: Namespace
) -> tuple[CallResult, ...]:
    """Run a reference in the sandbox: it comes from a data set and is trusted no more than that.

    Raises:
        SandboxError: if the sandbox cannot say what it does.
    """
    return client.shared().evaluate(Program(reference, calls, namespace)).results


def _close(output: Any, reference: Any) -> bool:
    if type(output) is not type(reference):
        return False
    if isinstance(output, float):
        return math.isclose(output, reference, rel_tol=RELATIVE, abs_tol=0.0)
    if isinstance(output, list | tuple):
        return len(output) == len(reference) and all(map(_same, output, reference))
    if isinstance(output, dict):
        return output.keys() == reference.keys() and all(
            _same(value, reference[key]) for key, value in output.items()
        )
    return False


def _same(output: Any, reference: Any) -> bool:
    return agreement(output, reference) is not Agreement.DIFFERENT
