"""Reading a world's answers: every value is checked, and a bad one is a fault, never a zero.

The bytes may come from hostile code. What passes here has the right types, finite numbers, only
the stop reasons a world may give, and bounded lengths. Whether the numbers are deserved is for
the gate to find out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from trainer.episode import StopReason
from trainer.question import MAX_ALLOWED, MAX_CRITERIA, Passage, Question, Questions
from trainer.worlds.calls import Fault, Result, fault
from trainer.worlds.seam import Opening, StepResult, Verdict
from trainer.worlds.wire import TooLongError

MAX_TEXT_CHARS = 200_000
"""Longest text in an answer: an opening, an observation, words to the user."""
MAX_NAMES = 256
"""Most events, withdrawn facts or metrics in one answer."""
MAX_NAME_CHARS = 128
MAX_QUESTIONS = 32
"""Most questions that may stand for one result."""
MAX_PASSAGES = 32
"""Most pieces of material in one question."""
ASKED = "asked"
"""The one field of an answer that is questions."""

WORLD_STOPS = frozenset({StopReason.SOLVED, StopReason.FAILED})
"""The endings that a world may declare; all others are the trainer's to give."""


class InvalidAnswerError(ValueError):
    """An answer that no result can be made of; the message says what is wrong with it."""


def read_answer(method: str, content: bytes, *, may_ask: bool = False) -> Result:
    """Return the result that one answer carries.

    Args:
        method: What was asked for, one of `trainer.worlds.calls.METHODS`.
        content: The frame, as it came from the world's process.
        may_ask: Whether questions to a judge may stand where the result would.
    """
    try:
        answer = json.loads(content, parse_constant=_refuse_constant)
        if not isinstance(answer, dict) or len(answer) != 1:
            raise InvalidAnswerError("is not a map with one entry")
        ((kind, body),) = answer.items()
        if kind == "raised" and isinstance(body, str):
            return fault(StopReason.WORLD_ERROR, f"{method} raised {body}")
        if kind != "ok":
            raise InvalidAnswerError(f"says {str(body)[:200]}")
        record = _Record(body)
        if ASKED in record.fields:
            return _read_questions(record, may_ask=may_ask)
        return _READERS[method](record)
    except RecursionError:
        return _invalid(method, "is nested too deeply")
    except TooLongError as error:
        return fault(StopReason.WORLD_FLOODED, f"the answer to {method} {error}")
    # ValueError covers text that is not JSON, bytes that are not UTF-8 and endless digits.
    except ValueError as error:
        return _invalid(method, str(error))


def _invalid(method: str, what: str) -> Fault:
    return fault(StopReason.WORLD_INVALID, f"the answer to {method} {what}")


class _Record:
    """One answer's fields, each taken once with its type; what is left over is refused."""

    def __init__(self, body: Any) -> None:
        if not isinstance(body, dict):
            raise InvalidAnswerError(f"is {_shown(body)} where a map of fields belongs")
        self.fields: dict[str, Any] = body

    def text(self, name: str) -> str:
        value = self._take(name)
        if not isinstance(value, str):
            raise InvalidAnswerError(f"has {name} = {_shown(value)}; it must be a string")
        if len(value) > MAX_TEXT_CHARS:
            raise TooLongError(f"has {name} of {len(value)} characters; at most {MAX_TEXT_CHARS}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidAnswerError(f"has {name} with half a surrogate pair") from error
        return value

    def optional_text(self, name: str) -> str | None:
        return self.text(name) if self.fields.get(name) is not None else self._take(name)

    def number(self, name: str) -> float:
        return _finite(name, self._take(name))

    def names(self, name: str) -> tuple[str, ...]:
        values = self._take(name)
        if not isinstance(values, list) or len(values) > MAX_NAMES:
            raise InvalidAnswerError(
                f"has {name} = {_shown(values)}; it must be a list of at most {MAX_NAMES} names"
            )
        return tuple(_name(name, value) for value in values)

    def numbers(self, name: str) -> Mapping[str, float]:
        values = self._take(name)
        if not isinstance(values, dict) or len(values) > MAX_NAMES:
            raise InvalidAnswerError(
                f"has {name} = {_shown(values)}; it must be a map of at most {MAX_NAMES} numbers"
            )
        return {_name(name, key): _finite(f"{name}.{key}", value) for key, value in values.items()}

    def texts(self, name: str, most: int) -> tuple[str, ...]:
        return tuple(_Record({name: value}).text(name) for value in self.entries(name, most))

    def entries(self, name: str, most: int) -> list[Any]:
        values = self._take(name)
        if not isinstance(values, list) or not 0 < len(values) <= most:
            raise InvalidAnswerError(
                f"has {name} = {_shown(values)}; it must be a list of 1 to {most} entries"
            )
        return values

    def records(self, name: str, most: int) -> list[_Record]:
        return [_Record(value) for value in self.entries(name, most)]

    def stop(self, name: str) -> StopReason | None:
        value = self._take(name)
        if value is None:
            return None
        if not isinstance(value, str) or value not in WORLD_STOPS:
            raise InvalidAnswerError(
                f"has {name} = {_shown(value)}; a world may say {', '.join(sorted(WORLD_STOPS))}"
            )
        return StopReason(value)

    def end(self) -> None:
        if self.fields:
            raise InvalidAnswerError(f"has the unknown field {_shown(next(iter(self.fields)))}")

    def _take(self, name: str) -> Any:
        if name not in self.fields:
            raise InvalidAnswerError(f"has no field {name}")
        return self.fields.pop(name)


def _read_opening(record: _Record) -> Opening:
    opening = Opening(system=record.text("system"), user=record.text("user"))
    record.end()
    return opening


def _read_step(record: _Record) -> StepResult:
    result = StepResult(
        observation=record.text("observation"),
        say=record.optional_text("say"),
        events=record.names("events"),
        reward=record.number("reward"),
        stop=record.stop("stop"),
        withdrawn=record.names("withdrawn"),
    )
    record.end()
    return result


def _read_verdict(record: _Record) -> Verdict:
    verdict = Verdict(
        success=record.number("success"),
        reward=record.number("reward"),
        metrics=record.numbers("metrics"),
    )
    if not 0.0 <= verdict.success <= 1.0:
        raise InvalidAnswerError(f"has success = {verdict.success}; it must be in [0, 1]")
    record.end()
    return verdict


def _read_questions(record: _Record, *, may_ask: bool) -> Questions:
    if not may_ask:
        raise InvalidAnswerError(
            "asks a judge where none is; a world may ask where it was made with `judge: true`"
        )
    asked = tuple(_read_question(one) for one in record.records(ASKED, MAX_QUESTIONS))
    record.end()
    return Questions(asked)


def _read_question(record: _Record) -> Question:
    allowed = record.entries("allowed", MAX_ALLOWED)
    question = Question(
        asks=record.text("asks"),
        criteria=record.texts("criteria", MAX_CRITERIA),
        material=tuple(_read_passage(one) for one in record.records("material", MAX_PASSAGES)),
        allowed=tuple(_finite("allowed", value) for value in allowed),
    )
    record.end()
    return question


def _read_passage(record: _Record) -> Passage:
    passage = Passage(record.text("name"), record.text("text"))
    record.end()
    return passage


def _read_answered(record: _Record) -> StepResult | Verdict:
    return _read_verdict(record) if "success" in record.fields else _read_step(record)


_READERS = {
    "start": _read_opening,
    "act": _read_step,
    "hear": _read_step,
    "verdict": _read_verdict,
    "rejudge": _read_verdict,
    "answered": _read_answered,
}


def _finite(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidAnswerError(f"has {name} = {_shown(value)}; it must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidAnswerError(f"has {name} = {_shown(value)}; it must be finite")
    return number


def _name(field: str, value: Any) -> str:
    short = isinstance(value, str) and 0 < len(value) <= MAX_NAME_CHARS
    if not short or not value.isprintable():
        raise InvalidAnswerError(f"has {_shown(value)} among {field}; it must be a short name")
    return value


def _shown(value: Any) -> str:
    return "null" if value is None else repr(value)[:64]


def _refuse_constant(name: str) -> float:
    raise InvalidAnswerError(f"holds {name}, which is not a JSON number")
