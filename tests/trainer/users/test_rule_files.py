"""A rule file is accepted whole or refused with line and column, and nothing in it is executed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.trainer.users.dialogue import RULES_TEXT
from trainer.users.disclosure import Standing
from trainer.users.parse import Act
from trainer.users.rule_file import SCHEMA_FILE, RuleFileError, load, parse_rules
from trainer.users.rules import BOUNDED, MATCH_NONE, Deed
from trainer.users.strategy import Strategy

ONE_RULE = "version: 1\nrules:\n  - id: a\n"
DEED = "    do: nudge\n    say: [x]\n"


def refusal(text: str) -> RuleFileError:
    with pytest.raises(RuleFileError) as caught:
        parse_rules(text)
    return caught.value


def test_rules_are_tried_in_the_order_of_the_file() -> None:
    rule_set = parse_rules(RULES_TEXT)
    assert [rule.id for rule in rule_set.rules][:3] == ["volunteer", "reveal", "told"]
    assert rule_set.rules[1].when.acts == {Act.ASK, Act.BOTH}


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "version: 1\n", "version: 1\nrules:\n"])
def test_a_file_without_rules_is_a_rule_set_in_which_none_holds(text: str) -> None:
    assert parse_rules(text).rules == ()


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        (ONE_RULE + "    when: {colour: [red]}\n" + DEED, 4, 12, "'colour'"),
        (ONE_RULE + "    do: nudge\n    say: ['Hi {name}.']\n", 5, 11, "{name}"),
        (ONE_RULE + "    do: sing\n    say: [x]\n", 4, 9, "'sing' is none of reveal"),
        (ONE_RULE + "    do: nudge\n", 3, 5, "say is missing"),
        (ONE_RULE + "    do: nudge\n    say: []\n", 5, 10, "is empty"),
        (ONE_RULE + "    do: nudge\n    say: ['  ']\n", 5, 11, "is blank"),
        (ONE_RULE + "    do: nudge\n    say: [yes, 3]\n", 5, 16, "3 is not of type string"),
        (ONE_RULE + "    do: reveal\n    say: [Well.]\n", 5, 11, "needs {facts}"),
        (ONE_RULE + "    do: nudge\n    say: ['{facts}']\n", 5, 11, "remove {facts}"),
        (ONE_RULE + "    do: nudge\n    say: ['Bye ###STOP###']\n", 5, 11, "stop marker"),
        (ONE_RULE + "    do: nudge\n    say: ['{']\n", 5, 11, "double a brace"),
        (ONE_RULE + "    do: nudge\n    say: ['{kind!r:>9}']\n", 5, 11, "{kind!r:>9}"),
        (ONE_RULE + "    do: nudge\n    say: ['{kind.__class__}']\n", 5, 11, "unknown field"),
        (ONE_RULE + "    when: {score: {below: 2}}\n" + DEED, 4, 27, "limit 1"),
        (ONE_RULE + "    when: {score: {over: 1}}\n" + DEED, 4, 20, "'over'"),
        (ONE_RULE + "    when: {score: {below: .nan}}\n" + DEED, 4, 27, "'.nan'"),
        (ONE_RULE + DEED + "  - id: a\n" + DEED, 6, 9, "already names rules[0]"),
        ("version: 2\n", 1, 10, "version: 1"),
        ("version: 1\nrulez: []\n", 2, 1, "'rulez'"),
        ("version: 1\nversion: 1\n", 2, 1, "stands twice"),
        ("- a\n", 1, 1, "mapping"),
        ("a: &x [1]\nb: *x\n", 1, 4, "anchors"),
        ("a: *x\n", 1, 4, "anchors"),
        ("a:\n\tb: 1\n", 2, 1, "not YAML"),
        ("a: b: c\n", 1, 5, "not YAML"),
        ("version: 1\n---\nversion: 1\n", 2, 1, "not YAML"),
        ("? [a]\n: 1\n", 1, 3, "a key must be plain text"),
        ("version: 1\nrules: \x00\n", 2, 8, "not YAML"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_place(text: str, line: int, column: int, words: str) -> None:
    error = refusal(text)
    assert error.problems[0].position == (line, column)
    assert words in error.problems[0].message
    assert str(error).startswith(f"user.yaml:{line}:{column}: ")


def test_every_fault_of_a_file_is_told_at_once() -> None:
    text = ONE_RULE + "    do: sing\n    say: []\n    loud: true\n"
    assert [problem.position.line for problem in refusal(text).problems] == [4, 5, 6]


def test_a_tag_that_names_code_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    error = refusal(f"version: !!python/object/apply:os.system ['touch {mark}']\n")
    assert "not allowed" in str(error)
    assert not mark.exists()


def test_an_expanding_file_is_refused_before_it_expands() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(20)
    )
    assert "anchors" in str(refusal(bomb))


def test_a_deep_or_long_file_is_refused() -> None:
    assert "nested deeper" in str(refusal("a: " + "[" * 5_000))
    assert "shorten it" in str(refusal("# " + "x" * 300_000))


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    binary = tmp_path / "user.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (binary, tmp_path, tmp_path / "missing.yaml"):
        with pytest.raises(RuleFileError, match=str(path)):
            load(path)


def test_a_file_is_read_with_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    path = tmp_path / "user.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + RULES_TEXT.replace("\n", "\r\n").encode())
    assert len(load(path).rules) == len(parse_rules(RULES_TEXT).rules)


@given(st.text(max_size=80))
def test_any_text_is_a_rule_set_or_a_refusal(text: str) -> None:
    try:
        assert parse_rules(text).rules == ()
    except RuleFileError as error:
        assert error.problems


@given(st.integers(min_value=0, max_value=len(RULES_TEXT)))
def test_a_file_cut_anywhere_is_a_shorter_rule_set_or_a_refusal(cut: int) -> None:
    try:
        rule_set = parse_rules(RULES_TEXT[:cut])
    except RuleFileError as error:
        assert error.problems
    else:
        whole = parse_rules(RULES_TEXT).rules
        assert [rule.id for rule in rule_set.rules] == [r.id for r in whole[: len(rule_set.rules)]]


def test_the_schema_and_the_code_name_the_same_words() -> None:
    schema = json.loads(SCHEMA_FILE.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    rule, when = schema["$defs"]["rule"]["properties"], schema["$defs"]["when"]["properties"]
    assert set(rule["do"]["enum"]) == {deed.value for deed in Deed}
    assert set(rule["strategy"]["enum"]) == {strategy.value for strategy in Strategy}
    assert set(when["act"]["items"]["enum"]) == {act.value for act in Act}
    assert set(when["match"]["items"]["enum"]) == {*(s.value for s in Standing), MATCH_NONE}
    assert set(BOUNDED) < set(when)
