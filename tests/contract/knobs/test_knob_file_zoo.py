"""Every published way to break a settings file is refused with its place and the way out of it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gate.contract import knobs
from tests.contract.knobs.material import content, line_of, refusal


def _tail(text: str) -> bytes:
    return f"{text}\n{knobs.END}\n".encode()


@pytest.mark.parametrize(
    ("key", "written", "meant"),
    [
        ("actor_lr", "1e-5", 1e-5),
        ("actor_lr", "1.0e-5", 1e-5),
        ("actor_lr", "1E-5", 1e-5),
        ("actor_lr", ".00001", 1e-5),
        ("actor_lr", "+1e-05", 1e-5),
        ("gamma", "1", 1.0),
        ("ppo_epochs", "2.0", 2),
        ("total_steps", "null", None),
        ("total_steps", "~", None),
        ("on_disk_full", "'stop'", "stop"),
    ],
)
def test_the_obvious_value_is_read_as_meant(key: str, written: str, meant: object) -> None:
    parsed = knobs.parse("agent", content("agent", key, written), worlds=())
    assert parsed.values[key] == meant
    assert type(parsed.values[key]) is type(meant)


@pytest.mark.parametrize(
    ("key", "written", "rule", "says"),
    [
        ("actor_lr", "1.0e5", "range", "from 1e-08 to 0.01"),
        ("entropy_coeff", "on", "type", "yes or no"),
        ("entropy_coeff", "yes", "type", "yes or no"),
        ("entropy_coeff", "1:30", "type", "90 seconds"),
        ("entropy_coeff", "80%", "type", "Write 0.8."),
        ("entropy_coeff", "3,0e-7", "type", "with a point: 3.0e-7"),
        ("entropy_coeff", ".nan", "finite", "not a finite number"),
        ("entropy_coeff", ".inf", "finite", "not a finite number"),
        ("entropy_coeff", "-.inf", "finite", "not a finite number"),
        ("entropy_coeff", "nan", "type", "finite"),
        ("entropy_coeff", "inf", "type", "finite"),
        ("entropy_coeff", "1e999", "finite", "not a finite number"),
        ("entropy_coeff", "010", "type", "Write 10; a leading zero"),
        ("entropy_coeff", "1_000", "type", "Write 1000."),
        ("entropy_coeff", "0x10", "type", "decimal"),
        ("entropy_coeff", "10s", "type", "Write 10 alone"),
        ("entropy_coeff", "'0.01'", "type", "Remove the quotes: 0.01."),
        ("entropy_coeff", "[0.01]", "type", "Write 0.01 without brackets."),
        ("entropy_coeff", "{a: 1}", "type", "a number, from 0 to 0.05"),
        ("entropy_coeff", "\u00a00.01", "type", "U+00A0 NO-BREAK SPACE"),
        ("entropy_coeff", "null", "type", "a number, from 0 to 0.05"),
        ("entropy_coeff", "9" * 5000, "type", "a number"),
        ("entropy_coeff", "9" * 60, "range", "never clamped"),
        ("ppo_epochs", "true", "type", "true and false are none"),
        ("ppo_epochs", "1.5", "type", "a whole number, from 1 to 4"),
        ("ppo_epochs", "[1, 2]", "type", "a whole number"),
        ("on_disk_full", "Pause", "choice", "Did you mean pause?"),
        ("on_disk_full", "1", "choice", "pause or stop"),
        ("on_disk_full", "wait", "choice", "pause or stop"),
    ],
)
def test_a_value_that_is_not_meant_is_refused_where_it_stands(
    key: str, written: str, rule: str, says: str
) -> None:
    text = content("agent", key, written)
    (finding,) = refusal("agent", text).findings
    assert finding.rule == f"knobs.{rule}"
    assert (finding.file, finding.path) == ("agent.yaml", f"agent.{key}")
    assert (finding.line, finding.column) == (line_of(text, f"{key}:"), len(key) + 3)
    assert says in f"{finding.message} {finding.next_step}"


BOUNDED = [spec for spec in knobs.specs().values() if spec.type in ("number", "integer")]


@pytest.mark.parametrize("spec", BOUNDED, ids=lambda spec: spec.path)
def test_a_value_beyond_its_bound_by_the_least_step_is_refused_and_the_bound_is_not(
    spec: knobs.KnobSpec,
) -> None:
    assert spec.low is not None and spec.high is not None, "every number needs both bounds"
    whole = spec.type == "integer"
    below = int(spec.low) - 1 if whole else math.nextafter(spec.low, -math.inf)
    above = int(spec.high) + 1 if whole else math.nextafter(spec.high, math.inf)
    for value, limit in ((below, spec.low), (above, spec.high)):
        (finding,) = refusal(spec.file, content(spec.file, spec.key, repr(value))).findings
        assert finding.rule == "knobs.range"
        assert (finding.value, finding.limit) == (value, limit)
    accepted = [spec.high] if "exclusiveMinimum" in spec.schema else [spec.low, spec.high]
    for value in accepted:
        parsed = knobs.parse(spec.file, content(spec.file, spec.key, repr(value)), worlds=())
        assert parsed.values[spec.key] == value


@pytest.mark.parametrize("written", ["5", "true", "null", "1e-5", "0.5"])
def test_a_text_that_yaml_takes_for_something_else_needs_quotes(written: str) -> None:
    (finding,) = refusal("user", content("user", "persona", written)).findings
    assert finding.rule == "knobs.type"
    assert "in quotes" in finding.next_step
    quoted = knobs.parse("user", content("user", "persona", f'"{written}"'), worlds=())
    assert quoted.values["persona"] == written


def test_a_name_without_a_value_is_refused_as_half_an_edit_even_where_null_is_allowed() -> None:
    for key in ("total_steps", "gamma"):
        text = content("agent", key)
        (finding,) = refusal("agent", text).findings
        assert finding.rule == "knobs.blank"
        assert finding.line == line_of(text, f"{key}:")


def test_a_repeated_key_is_refused_with_both_lines() -> None:
    text = content("agent", "gamma", "0.95\ngamma: 0.96")
    first = line_of(text, "gamma:")
    (finding,) = refusal("agent", text).findings
    assert finding.rule == "knobs.duplicate"
    assert (finding.line, finding.column) == (first + 1, 1)
    assert f"line {first} and again at line {first + 1}" in finding.message


def test_a_key_repeated_within_a_rule_or_a_world_is_refused_too() -> None:
    text = content("user", "worlds", "{travel: {persona: a, persona: b}}")
    (finding,) = refusal("user", text).findings
    assert finding.path == "user.worlds.travel.persona"
    assert finding.limit == [line_of(text, "worlds:")] * 2


def test_an_unknown_key_is_refused_with_the_name_that_was_probably_meant() -> None:
    text = content("agent", "gamma", "1.0\nentropy_coef: 0.01")
    (finding,) = refusal("agent", text).findings
    assert finding.rule == "knobs.unknown"
    assert (finding.line, finding.column) == (line_of(text, "entropy_coef:"), 1)
    assert finding.next_step == "Did you mean entropy_coeff?"


def test_a_knob_of_another_file_is_sent_there() -> None:
    (finding,) = refusal("agent", content("agent", "gamma", "1.0\npersona: plain")).findings
    assert finding.next_step == "It belongs in user.yaml: move it there."


def test_a_name_like_no_other_is_told_what_there_is() -> None:
    (finding,) = refusal("agent", content("agent", "gamma", "1.0\nzzz: 1")).findings
    assert "entropy_coeff" in finding.next_step
    odd = refusal("agent", content("agent", "gamma", '1.0\n"zzz\u200b": 1')).findings[0]
    assert "ZERO WIDTH SPACE" in odd.next_step


def test_a_missing_knob_is_refused_with_the_line_to_add() -> None:
    text = content("agent").replace(b"gamma: 1.0\n", b"")
    (finding,) = refusal("agent", text).findings
    assert finding.rule == "knobs.missing"
    assert finding.path == "agent.gamma"
    assert finding.next_step == "Add `gamma: 1.0` (its default)."


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("agent:\n\tgamma: 0.95", 2, 1, "starts with a tab"),
        ("agent:\n  \tgamma: 0.95", 2, 3, "starts with a tab"),
        ("gamma:\t0.95", 1, 7, "has a tab after a colon"),
        ("gamma\uff1a 0.95", 1, 6, "U+FF1A FULLWIDTH COLON"),
        ("gamma:\u00a00.95", 1, 7, "U+00A0 NO-BREAK SPACE"),
        ("gamma: 1.0\nkl_coeff:\u00a00.95", 2, 10, "U+00A0 NO-BREAK SPACE"),
        ("gamma: \u201c0.95\u201d\nx\uff1a 1", 1, 8, "LEFT DOUBLE QUOTATION MARK"),
        ("<<<<<<< HEAD\ngamma: 1.0\n=======\ngamma: 0.9\n>>>>>>> b", 1, 1, "merge conflict"),
        ("gamma: 1.0\x00", 1, 11, "U+0000 NUL"),
        ("gamma: 1.0\x1b", 1, 11, "U+001B"),
        ("gamma: 1.0\u2028", 1, 11, "LINE SEPARATOR"),
        ("a: &a [1]\nb: [*a, *a]", 1, 4, "anchor &a"),
        ("a: [1]\nb: [*a, *a]", 2, 5, "alias *a"),
        ("<<: {gamma: 1.0}", 1, 1, "Merge keys"),
        ("a: !!python/object/apply:os.system ['echo ran > ran']", 1, 4, "nothing was built or run"),
        ("gamma: !!float 1", 1, 8, "tag"),
        ("%YAML 1.1\n---\ngamma: 1.0", 2, 1, "directive"),
        ("gamma: 1.0\n---\ngamma: 0.9", 2, 1, "second YAML document"),
        ("gamma: 1.0\n...\ngamma: 0.9", 3, 1, "second YAML document"),
        ("a: " + "[" * 100, 1, 12, "nested more than 8 levels"),
        ("{[a]: 1}", 1, 2, "where a name belongs"),
        ("- gamma", 1, 1, "holds a list"),
        ("gamma", 1, 1, "holds a single text"),
        ("gamma: 'x", 3, 1, "no valid YAML"),
        ("gamma: @x", 1, 8, "no valid YAML"),
        ("gamma: 1.0\n   b: 2", 2, 5, "no valid YAML"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_by_the_name_of_its_cause(
    text: str, line: int, column: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finding = refusal("agent", _tail(text)).findings[0]
    assert says in finding.message
    assert (finding.line, finding.column) == (line, column)
    assert list(tmp_path.iterdir()) == []


def test_each_conflict_marker_is_named() -> None:
    text = _tail("<<<<<<< HEAD\ngamma: 1.0\n=======\ngamma: 0.9\n>>>>>>> branch")
    assert [finding.line for finding in refusal("agent", text).findings] == [1, 3, 5]


def test_an_exploding_anchor_is_refused_before_it_grows() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (finding,) = refusal("agent", _tail("\n".join(rows))).findings
    assert "anchor &a0" in finding.message


def test_lookalikes_within_a_quoted_text_or_a_comment_are_legal() -> None:
    written = '"G\u00e4ste\uff1a sagen \u201eja\u201c\t."  # nur\u00a0so \uff1a'
    parsed = knobs.parse("user", content("user", "persona", written), worlds=())
    assert parsed.values["persona"] == "G\u00e4ste\uff1a sagen \u201eja\u201c\t."


def test_a_byte_order_mark_is_accepted_and_no_column_counts_it() -> None:
    text = b"\xef\xbb\xbf" + content("agent", "gamma", "0.95")
    assert knobs.parse("agent", text, worlds=()).values["gamma"] == 0.95
    (finding,) = refusal("agent", b"\xef\xbb\xbfx: 1\n" + content("agent")).findings
    assert (finding.line, finding.column) == (1, 1)


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
@pytest.mark.parametrize("last", [True, False])
def test_windows_line_ends_and_a_missing_last_one_are_accepted(newline: str, last: bool) -> None:
    text = content("agent", "gamma", "0.95").decode().replace("\n", newline)
    text = text if last else text.rstrip()
    parsed = knobs.parse("agent", text.encode(), worlds=())
    assert parsed.values["gamma"] == 0.95
    assert parsed.positions["agent.gamma"].column == 8


@pytest.mark.parametrize(
    "text",
    [b"", b"\n\n", b"# only\n# comments\n", b"\xef\xbb\xbf", b"---\n", knobs.END.encode() + b"\n"],
)
def test_an_empty_file_is_not_ready_rather_than_full_of_defaults(text: bytes) -> None:
    refused = refusal("user", text)
    assert isinstance(refused, knobs.NotReady)
    assert refused.findings[0].rule == "knobs.empty"


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        (b"\x89PNG\r\n\x1a\n", "encoding", (1, 1)),
        (b"gamma: \xe9t\xe9\n", "encoding", (1, 8)),
        ("gamma: 1.0\n".encode("utf-16"), "encoding", (1, 1)),
        (b"a: \x00\x01", "character", (1, 4)),
        (b"x" * (knobs.LARGEST + 1), "size", (None, None)),
    ],
)
def test_what_is_no_text_is_refused_as_such(
    text: bytes, rule: str, place: tuple[int | None, int | None]
) -> None:
    refused = refusal("user", text)
    assert refused.findings[0].rule == f"knobs.{rule}"
    assert (refused.findings[0].line, refused.findings[0].column) == place
    assert not isinstance(refused, knobs.NotReady)


def test_a_huge_valid_file_is_refused_by_its_size_alone() -> None:
    text = content("user") + b"#" * knobs.LARGEST
    (finding,) = refusal("user", text).findings
    assert (finding.value, finding.limit) == (len(text), knobs.LARGEST)


def test_every_fault_of_a_file_is_told_at_once_in_the_order_of_its_lines() -> None:
    text = content("agent", "gamma", "2.0\nentropy_coef: 1").replace(
        b"ppo_epochs: 1", b"ppo_epochs: true"
    )
    refused = refusal("agent", text)
    assert [finding.path for finding in refused.findings] == [
        "agent.gamma",
        "agent.entropy_coef",
        "agent.ppo_epochs",
    ]
    assert str(refused).count("\n") == 2
    assert str(refused).startswith(f"agent.yaml:{line_of(text, 'gamma:')}:8: ")


@pytest.mark.parametrize("file", ["user", "environment"])
def test_an_unknown_world_is_refused_with_the_worlds_there_are(file: str) -> None:
    key, value = ("worlds", "{tau: {persona: x}}") if file == "user" else ("task_mix", "{tau: 1}")
    text = content(file, key, value)
    (finding,) = refusal(file, text).findings
    assert finding.rule == "knobs.unknown-world"
    assert finding.next_step == "Did you mean tau2?"
    assert "intention, tau2, travel" in finding.message
    assert (finding.line, finding.column) == (line_of(text, f"{key}:"), len(key) + 4)


def test_a_world_like_no_other_is_refused_too() -> None:
    (finding,) = refusal("environment", content("environment", "task_mix", "{zz: 1}")).findings
    assert finding.next_step == "Use one of them, or remove the entry."


def test_a_learner_knob_cannot_differ_between_worlds_and_the_refusal_says_so() -> None:
    text = content("agent", "on_disk_full", "pause\nworlds: {travel: {actor_lr: 1.0e-6}}")
    (finding,) = refusal("agent", text).findings
    assert finding.rule == "knobs.one-for-all-worlds"
    assert "share one policy" in finding.message
    text = content("environment", "worlds", "{travel: {task_mix: {travel: 1}}}")
    assert refusal("environment", text).findings[0].rule == "knobs.one-for-all-worlds"


@pytest.mark.parametrize(
    ("written", "rule", "path"),
    [
        ("[{id: a, event: e}]", "missing", "reward.shaping.0.value"),
        ("[{id: a, event: e, value: 2}]", "range", "reward.shaping.0.value"),
        ("[{id: A b, event: e, value: 0}]", "pattern", "reward.shaping.0.id"),
        ("[{id: a, event: e, value: 0, once: yes}]", "type", "reward.shaping.0.once"),
        ("[{id: a, event: e, value: 0, once: 0}]", "type", "reward.shaping.0.once"),
        ("[{id: a, event: e, value: 0, once: maybe}]", "type", "reward.shaping.0.once"),
        ("[{id: a, event: e, value: 0, where: {x: [1]}}]", "type", "reward.shaping.0.where.x"),
        ("[{id: a, event: e, value: 0, when: 1}]", "unknown", "reward.shaping.0.when"),
        (
            "[{id: a, event: e, value: 0}, {id: a, event: f, value: 0}]",
            "unique",
            "reward.shaping.1.id",
        ),
        ("none", "type", "reward.shaping"),
        ("{}", "type", "reward.shaping"),
    ],
)
def test_a_shaping_rule_is_checked_in_each_part(written: str, rule: str, path: str) -> None:
    (finding,) = refusal("reward", content("reward", "shaping", written)).findings
    assert (finding.rule, finding.path) == (f"knobs.{rule}", path)


def test_too_many_or_too_few_of_anything_are_refused() -> None:
    rules = ", ".join(f"{{id: r{n}, event: e, value: 0}}" for n in range(51))
    for file, key, written in (
        ("reward", "shaping", f"[{rules}]"),
        ("user", "reveal_kinds", "[]"),
        ("user", "persona", '""'),
        ("user", "persona", "x" * 201),
        ("environment", "task_mix", "{" + ", ".join(f"w{n}: 1" for n in range(101)) + "}"),
    ):
        worlds = [f"w{number}" for number in range(101)]
        with pytest.raises(knobs.Refused) as caught:
            knobs.parse(file, content(file, key, written), worlds=worlds)
        assert [finding.rule for finding in caught.value.findings] == ["knobs.length"]


def test_a_kind_named_twice_and_a_mix_of_nothing_are_refused() -> None:
    twice = refusal("user", content("user", "reveal_kinds", "[a, a]")).findings[0]
    assert (twice.rule, twice.path) == ("knobs.unique", "user.reveal_kinds.1")
    nothing = refusal("environment", content("environment", "task_mix", "{travel: 0}")).findings[0]
    assert nothing.rule == "knobs.weights"


def test_a_single_kind_without_brackets_is_told_how_to_be_a_list() -> None:
    (finding,) = refusal("user", content("user", "reveal_kinds", "shape")).findings
    assert finding.next_step == 'Write it as a list: ["shape"].'


def test_a_file_name_that_is_none_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ValueError, match="no knob file"):
        knobs.parse("users", b"", worlds=())
