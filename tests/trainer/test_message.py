"""An agent's text is read as one move or as a reason why not, whatever it holds."""

from __future__ import annotations

import json

import pytest

from trainer.message import Choice, read_action


def call(arguments: str) -> str:
    return f'<tool_call>{{"name": "pay", "arguments": {arguments}}}</tool_call>'


def test_a_call_is_read_with_its_arguments() -> None:
    action = read_action("<think>mine</think>" + call('{"amount": 1.5, "to": ["a"]}'))
    assert (action.choice, action.name) == (Choice.TOOL, "pay")
    assert action.arguments == {"amount": 1.5, "to": ["a"]}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_that_no_seam_carries_makes_a_call_malformed(number: str) -> None:
    action = read_action(call(f'{{"amount": {number}}}'))
    assert action.choice is Choice.MALFORMED
    assert "is not a JSON number" in action.content


@pytest.mark.parametrize("number", ["1e308", "0.1", "-0.0", "1e-999", "123456789012345678901"])
def test_every_other_number_travels(number: str) -> None:
    action = read_action(call(f'{{"amount": {number}}}'))
    assert action.choice is Choice.TOOL
    assert json.loads(json.dumps(dict(action.arguments), allow_nan=False)) == action.arguments


@pytest.mark.parametrize(
    "text",
    ["", "<think>open", "[dance] now", "[search]", call("[1]"), call("{}") * 2, call("{") + "}"],
)
def test_what_is_no_move_is_malformed_with_a_reason(text: str) -> None:
    action = read_action(text)
    assert action.choice is Choice.MALFORMED and action.content
