"""Reading a judge's answer: exactly the form that was asked for, or a reason why it is none.

Plain JSON, with one repair: a single code fence around it. No other reading is tried, since words
that nearly are an answer may be words of the agent's that the judge repeats. Nothing is executed.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from trainer.judges.prompt import code_of
from trainer.question import YES_NO, Answer, Question

MAX_CHARS = 50_000
"""Longer answers are not read."""
KEYS = frozenset({"question", "reasons", "answers"})
SLACK = 1e-9
"""A number this close to an allowed one is that one."""

_FENCED = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n```\Z", re.DOTALL)


@dataclass(frozen=True)
class Unreadable:
    """Why words are no answer; completes the sentence `it ...` and holds nothing of the words."""

    reason: str


def read_answer(text: str, question: Question) -> Answer | Unreadable:
    """Return the answer that a judge's words are.

    Args:
        text: The judge's words, all of them.
        question: What was asked.
    """
    if len(text) > MAX_CHARS:
        return Unreadable(f"has {len(text)} characters; at most {MAX_CHARS} are read")
    body = text.strip()
    fenced = _FENCED.match(body)
    try:
        value = json.loads(
            fenced.group(1) if fenced else body,
            object_pairs_hook=_only_once,
            parse_constant=_no_number,
        )
    except _Refused as refused:
        return Unreadable(str(refused))
    except (ValueError, RecursionError):
        return Unreadable("is not one JSON object and nothing else")
    if not isinstance(value, dict):
        return Unreadable("is not a JSON object")
    if value.keys() - KEYS:
        return Unreadable("has a field beside question, reasons and answers")
    if value.get("question") != code_of(question):
        return Unreadable("does not repeat the code of this question in the field question")
    return _values(value.get("answers"), question)


def _values(answers: Any, question: Question) -> Answer | Unreadable:
    wanted = len(question.criteria)
    if not isinstance(answers, list):
        return Unreadable("has no list in the field answers")
    if len(answers) != wanted:
        return Unreadable(f"has {len(answers)} answers and the question {wanted} criteria")
    found = [_value(entry, question.allowed) for entry in answers]
    if any(value is None for value in found):
        form = "true or false"
        if question.allowed != YES_NO:
            form = ", ".join(f"{value:g}" for value in question.allowed)
        return Unreadable(f"has an answer that is none of {form}")
    return tuple(value for value in found if value is not None)


def _value(entry: Any, allowed: tuple[float, ...]) -> float | None:
    if allowed == YES_NO:
        return float(entry) if isinstance(entry, bool) else None
    if isinstance(entry, bool) or not isinstance(entry, int | float) or not 0 <= entry <= 1:
        return None
    return next((value for value in allowed if math.isclose(entry, value, abs_tol=SLACK)), None)


class _Refused(Exception):
    """JSON that says two things at once, or a number that is none."""


def _only_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Refused("has the same field twice")
    return found


def _no_number(name: str) -> float:
    raise _Refused(f"holds {name}, which is no JSON number")
