"""An answer becomes a checked value or a fault, whatever bytes it is made of and cut into."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.episode import StopReason
from trainer.worlds import wire
from trainer.worlds.answers import MAX_NAMES, MAX_TEXT_CHARS, read_answer
from trainer.worlds.calls import FAULT_REASONS, Fault
from trainer.worlds.seam import Opening, StepResult, Verdict

STEP = {
    "observation": "", "say": None, "events": [], "reward": 0.0, "stop": None, "withdrawn": [],
}  # fmt: skip
VERDICT = {"success": 1.0, "reward": 0.5, "metrics": {"choice": 1}}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def read(method: str, body: Any) -> Any:
    return read_answer(method, json.dumps({"ok": body}).encode())


def test_a_good_answer_becomes_the_value_it_stands_for() -> None:
    assert read("start", {"system": "s", "user": "ü"}) == Opening("s", "ü")
    assert read("act", STEP) == read("hear", STEP) == StepResult()
    full = STEP | {"say": "hm", "events": ["a b"], "reward": -1, "stop": "solved"}
    assert read("act", full) == StepResult("", "hm", ("a b",), -1.0, StopReason.SOLVED)
    assert read("verdict", VERDICT) == Verdict(1.0, 0.5, {"choice": 1.0})


@pytest.mark.parametrize(
    ("method", "body", "says"),
    [
        ("act", STEP | {"reward": None}, "reward = null"),
        ("act", STEP | {"reward": True}, "reward = True; it must be a number"),
        ("act", STEP | {"reward": "1"}, "it must be a number"),
        ("act", STEP | {"reward": 10**400}, "it must be finite"),
        ("act", STEP | {"stop": "world_hung"}, "a world may say failed, solved"),
        ("act", STEP | {"stop": ["solved"]}, "a world may say failed, solved"),
        ("act", STEP | {"events": "moved"}, "it must be a list of at most"),
        ("act", STEP | {"events": ["a"] * (MAX_NAMES + 1)}, "it must be a list of at most"),
        ("act", STEP | {"events": ["a\n"]}, "it must be a short name"),
        ("act", STEP | {"events": [""]}, "it must be a short name"),
        ("act", STEP | {"withdrawn": ["x" * 129]}, "it must be a short name"),
        ("act", STEP | {"observation": None}, "observation = null; it must be a string"),
        ("act", STEP | {"observation": "\ud800"}, "half a surrogate pair"),
        ("act", STEP | {"bonus": 1.0}, "the unknown field 'bonus'"),
        ("act", {"observation": ""}, "has no field say"),
        ("start", {"system": "s"}, "has no field user"),
        ("start", STEP, "has no field system"),
        ("verdict", VERDICT | {"success": -0.1}, "it must be in [0, 1]"),
        ("verdict", VERDICT | {"metrics": {"choice": None}}, "metrics.choice = null"),
        ("verdict", VERDICT | {"metrics": [1.0]}, "it must be a map"),
        ("verdict", None, "null where a map of fields belongs"),
    ],
)
def test_a_bad_answer_is_invalid_and_says_what_is_wrong(method: str, body: Any, says: str) -> None:
    result = read(method, body)
    assert isinstance(result, Fault)
    assert result.stop is StopReason.WORLD_INVALID
    assert result.detail.startswith(f"the answer to {method} ") and says in result.detail


def test_a_text_of_any_size_is_taken_up_to_the_limit_and_is_a_flood_beyond() -> None:
    whole = read("act", STEP | {"observation": "x" * MAX_TEXT_CHARS})
    assert whole == StepResult("x" * MAX_TEXT_CHARS)
    flood = read("act", STEP | {"observation": "x" * (MAX_TEXT_CHARS + 1)})
    assert isinstance(flood, Fault) and flood.stop is StopReason.WORLD_FLOODED


@pytest.mark.parametrize("content", [b'{"ok": 1e999}', b"[" * 200_000, b'{"ok":' * 5_000])
def test_traps_of_a_json_reader_are_invalid(content: bytes) -> None:
    result = read_answer("act", content)
    assert isinstance(result, Fault) and result.stop is StopReason.WORLD_INVALID


@given(method=st.sampled_from(["start", "act", "hear", "verdict"]), content=st.binary() | JSON)
def test_no_answer_raises(method: str, content: Any) -> None:
    if not isinstance(content, bytes):
        content = json.dumps({"ok": content}).encode()
    result = read_answer(method, content)
    assert isinstance(result, Fault) and result.stop in FAULT_REASONS
    assert result.detail.isprintable()


@given(field=st.sampled_from(sorted(STEP)), value=JSON)
def test_what_is_not_refused_has_the_promised_types(field: str, value: Any) -> None:
    result = read("act", STEP | {field: value})
    if isinstance(result, Fault):
        return
    assert isinstance(result, StepResult)
    assert type(result.observation) is str and type(result.reward) is float
    assert result.reward - result.reward == 0.0, "finite"
    assert result.stop in (None, StopReason.SOLVED, StopReason.FAILED)
    assert all(type(name) is str for name in result.events + result.withdrawn)


@given(
    contents=st.lists(st.binary(max_size=40), min_size=1, max_size=5),
    cuts=st.lists(st.integers(1, 7), min_size=1, max_size=20),
)
def test_frames_survive_any_cutting(contents: list[bytes], cuts: list[int]) -> None:
    reader = wire.FrameReader(40)
    stream = b"".join(map(wire.frame, contents))
    seen: list[bytes] = []
    position = turn = 0
    while position < len(stream) or reader.pending:
        step = cuts[turn % len(cuts)]
        content = reader.feed(stream[position : position + step])
        position, turn = position + step, turn + 1
        if content is not None:
            seen.append(content)
    assert seen == contents


def test_a_frame_beyond_the_limit_is_refused_by_its_length_alone() -> None:
    reader = wire.FrameReader(40)
    with pytest.raises(wire.TooLongError, match="41 bytes in one answer; at most 40"):
        reader.feed((41).to_bytes(4, "big"))
