"""A program's edit changes the values it was asked to, and not one other byte that matters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.contract import knobs
from gate.contract.knobs import ABSENT, KnobChange
from tests.contract.knobs import material
from tests.contract.knobs.material import content


def _edit(file: str, text: str, *changes: tuple[str, Any]) -> str:
    """Return an edited text, its last line added and taken off again."""
    whole = f"{text}\n{knobs.END}\n".encode()
    asked = [KnobChange(path, None, new) for path, new in changes]
    edited = knobs.edit(file, whole, asked).decode()
    return edited.removesuffix(f"\n{knobs.END}\n")


REST = """\
turn_reward_clip: null
task_weight: 1.0
conversation_weight: 1.0
malformed_floor: -0.1"""


def test_one_number_changes_and_every_other_byte_stays() -> None:
    before = content("agent", "gamma", "0.95   # near one").decode()
    change = KnobChange("agent.gamma", 0.95, 1.0)
    after = knobs.edit("agent", before.encode(), [change]).decode()
    assert after == before.replace("gamma: 0.95   #", "gamma: 1.0   #")


def test_an_edit_to_what_is_there_changes_no_byte() -> None:
    before = content("agent", "gamma", "1")
    assert knobs.edit("agent", before, [KnobChange("agent.gamma", 1.0, 1.0)]) == before


@pytest.mark.parametrize(
    ("written", "new", "after"),
    [
        ("'plain'", "it's new", "'it''s new'"),
        ('"plain"', 'say "x"', '"say \\"x\\""'),
        ("plain", "warm", "warm"),
        ("plain", "a: b", '"a: b"'),
        ("plain", "yes", '"yes"'),
        ("'plain'", "two\nlines", '"two\\nlines"'),
    ],
)
def test_a_text_keeps_the_quotes_it_had(written: str, new: str, after: str) -> None:
    before = content("user", "persona", written)
    edited = knobs.edit("user", before, [KnobChange("user.persona", "plain", new)])
    assert edited == content("user", "persona", after)


def test_line_ends_and_a_byte_order_mark_stay_as_they_were() -> None:
    before = b"\xef\xbb\xbf" + content("user").replace(b"\n", b"\r\n")
    changes = [
        KnobChange("user.persona", "plain", "warm"),
        KnobChange("user.worlds.travel.persona", ABSENT, "curt"),
    ]
    after = knobs.edit("user", before, changes)
    assert after.startswith(b"\xef\xbb\xbf# yaml")
    assert after.count(b"\r\n") == after.count(b"\n") == before.count(b"\n") + 1
    assert b"worlds:\r\n  travel: {persona: curt}\r\n" in after


def test_a_first_override_opens_the_map_of_worlds_and_the_last_closes_it() -> None:
    before = content("user", "worlds", "{}  # none yet")
    first = KnobChange("user.worlds.travel.persona", ABSENT, "warm")
    second = KnobChange("user.worlds.tau2.facts_per_reply", ABSENT, 2)
    opened = knobs.edit("user", before, [first, second])
    lines = "  # none yet\n  travel: {persona: warm}\n  tau2: {facts_per_reply: 2}"
    assert opened == content("user", "worlds", "X").replace(
        b"worlds: X", b"worlds:" + lines.encode()
    )
    back = [KnobChange(one.path, one.new, ABSENT) for one in (first, second)]
    closed = knobs.edit("user", opened, back)
    assert knobs.parse("user", closed, worlds=()).values["worlds"] == {}
    assert b"# none yet" in closed


def test_overrides_in_block_style_are_added_changed_and_removed_line_by_line() -> None:
    before = (
        content("user", "worlds", "")
        .decode()
        .replace(
            "worlds:\n",
            "worlds:\n  # far away\n  travel:\n    persona: warm  # friendly\n"
            "    facts_per_reply: 2  # eager\n  tau2:\n    persona: curt\n",
        )
    )
    changes = [
        KnobChange("user.worlds.travel.facts_per_reply", 2, ABSENT),
        KnobChange("user.worlds.travel.match_threshold", ABSENT, 0.5),
        KnobChange("user.worlds.tau2.persona", "curt", ABSENT),
    ]
    after = knobs.edit("user", before.encode(), changes).decode()
    assert after == before.replace(
        "    facts_per_reply: 2  # eager\n  tau2:\n    persona: curt\n",
        "    # eager\n    match_threshold: 0.5\n",
    )


def test_a_missing_map_of_worlds_is_added() -> None:
    before = content("user").replace(b"worlds: {}\n", b"")
    after = knobs.edit("user", before, [KnobChange("user.worlds.tau2.persona", ABSENT, "x")])
    assert b"persona: plain\nworlds:\n  tau2: {persona: x}\n" in after


def test_a_missing_knob_is_added_by_the_edit_that_sets_it() -> None:
    before = content("agent").replace(b"gamma: 1.0\n", b"")
    after = knobs.edit("agent", before, [KnobChange("agent.gamma", 1.0, 0.95)])
    assert b"\ngamma: 0.95\n" in after


RULES = f"""\
# what pays
shaping:
  # tools first
  - id: tool   # the first one
    event: tool
    value: 0.02
  - id: order
    event: found
    value: 0.09  # most
    once: false
{REST}"""

TOOL = {"id": "tool", "event": "tool", "value": 0.02, "where": {}, "once": True}
ORDER = {"id": "order", "event": "found", "value": 0.09, "where": {}, "once": False}


def test_a_rule_changes_in_place_and_gains_no_part_that_says_nothing() -> None:
    after = _edit("reward", RULES, ("reward.shaping", [{**TOOL, "value": 0.05}, ORDER]))
    assert after == RULES.replace("value: 0.02", "value: 0.05")


def test_a_rule_is_added_at_its_place() -> None:
    new = {"id": "user", "event": "found", "value": 0.07}
    text = "  - id: user\n    event: found\n    value: 0.07\n"
    after = _edit("reward", RULES, ("reward.shaping", [TOOL, new, ORDER]))
    assert after == RULES.replace("  - id: order", f"{text}  - id: order")
    after = _edit("reward", RULES, ("reward.shaping", [new, TOOL, ORDER]))
    assert after == RULES.replace("  - id: tool", f"{text}  - id: tool")
    after = _edit("reward", RULES, ("reward.shaping", [TOOL, ORDER, new]))
    assert after == RULES.replace("turn_reward", f"{text}turn_reward")


def test_a_rule_goes_and_its_comment_stays() -> None:
    after = _edit("reward", RULES, ("reward.shaping", [ORDER]))
    assert after == RULES.replace(
        "  - id: tool   # the first one\n    event: tool\n    value: 0.02\n",
        "  # the first one\n",
    )


def test_all_rules_go_and_their_comments_stay() -> None:
    after = _edit("reward", RULES, ("reward.shaping", []))
    assert after.startswith("# what pays\nshaping: []\n  # tools first\n")
    assert "# the first one" in after and "# most" in after


def test_rules_in_another_order_are_written_anew_with_their_comments() -> None:
    after = _edit("reward", RULES, ("reward.shaping", [ORDER, TOOL]))
    parsed = knobs.parse("reward", f"{after}\n{knobs.END}".encode(), worlds=())
    assert [rule["id"] for rule in parsed.values["shaping"]] == ["order", "tool"]
    for comment in ("# what pays", "# tools first", "# the first one", "# most"):
        assert after.count(comment) == 1


def test_a_part_of_a_rule_goes_even_from_the_line_of_its_dash() -> None:
    text = f"shaping:\n  - once: false  # always\n    id: a\n    event: e\n    value: 0.1\n{REST}"
    rule = {"id": "a", "event": "e", "value": 0.1}
    after = _edit("reward", text, ("reward.shaping", [rule]))
    parsed = knobs.parse("reward", f"{after}\n{knobs.END}".encode(), worlds=())
    assert parsed.values["shaping"][0]["once"] is True
    assert "# always" in after


def test_a_list_in_brackets_stays_in_brackets() -> None:
    before = content("user", "reveal_kinds", '[shape,  "return"]  # both')
    change = KnobChange("user.reveal_kinds", [], ["shape"])
    assert knobs.edit("user", before, [change]) == content(
        "user", "reveal_kinds", "[shape]  # both"
    )


def test_true_is_not_one_where_a_rule_compares_with_it() -> None:
    text = f"shaping: [{{id: a, event: e, value: 0.1, where: {{x: 1}}}}]\n{REST}"
    rule = {"id": "a", "event": "e", "value": 0.1, "where": {"x": True}}
    after = _edit("reward", text, ("reward.shaping", [rule]))
    assert after == text.replace("{x: 1}", "{x: true}")


def test_a_text_over_several_lines_is_replaced_whole() -> None:
    before = content("user", "persona", "|-\n  a # no comment\n  b")
    after = knobs.edit("user", before, [KnobChange("user.persona", "", "plain")])
    assert knobs.parse("user", after, worlds=()).values["persona"] == "plain"


@pytest.mark.parametrize(
    "text",
    [b"", b"# nothing\n", b"gamma:\t1\n", b"\x00", b"gamma: 1.0\n", b"a: 1\na: 2\n# end of knobs"],
)
def test_an_unreadable_file_is_never_written_over(text: bytes) -> None:
    with pytest.raises(knobs.Refused):
        knobs.edit("agent", text, [KnobChange("agent.gamma", 1.0, 0.95)])


def test_an_edit_mends_an_invalid_value_but_makes_none() -> None:
    broken = content("agent", "gamma", "7")
    mended = knobs.edit("agent", broken, [KnobChange("agent.gamma", 7, 0.95)])
    assert mended == content("agent", "gamma", "0.95")
    with pytest.raises(knobs.Refused, match=r"agent\.yaml: agent\.gamma is 7"):
        knobs.edit("agent", mended, [KnobChange("agent.gamma", 0.95, 7)])


def test_a_change_of_another_file_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ValueError, match="does not belong"):
        knobs.edit("agent", content("agent"), [KnobChange("user.persona", "plain", "x")])


@settings(deadline=None, max_examples=60)
@given(material.files("reward"), material.files("reward"), st.booleans())
def test_any_valid_change_is_written_and_keeps_every_comment(
    before: dict[str, Any], after: dict[str, Any], crlf: bool
) -> None:
    _check_edit("reward", before, after, crlf)


@settings(deadline=None, max_examples=60)
@given(material.files("user"), material.files("user"), st.booleans())
def test_any_valid_change_of_overrides_is_written_and_keeps_every_comment(
    before: dict[str, Any], after: dict[str, Any], crlf: bool
) -> None:
    _check_edit("user", before, after, crlf)


def _check_edit(file: str, before: dict[str, Any], after: dict[str, Any], crlf: bool) -> None:
    others = knobs.defaults().to_json()
    old = knobs.from_values({**others, file: before}, worlds=material.WORLDS)
    new = knobs.from_values({**others, file: after}, worlds=material.WORLDS)
    lines = knobs.render(file, old).decode().split("\n")
    # A comment behind each line that can carry one.
    texts = [
        f"{line}  # at {n}" if line and "#" not in line else line for n, line in enumerate(lines)
    ]
    content_before = ("\r\n" if crlf else "\n").join(texts).encode()
    edited = knobs.edit(file, content_before, knobs.diff(old, new))
    assert knobs.parse(file, edited, worlds=material.WORLDS).values == new.values[file]
    for number, text in enumerate(texts):
        if f"  # at {number}" in text:
            assert f"# at {number}".encode() in edited


@pytest.mark.parametrize("comment", ["# why", '# "why"'])
def test_a_file_too_tangled_to_edit_is_left_to_a_person(comment: str) -> None:
    tangled = f'{{travel: {{reveal_kinds: [a, {comment}\n b], persona: "two\n lines"}}}}'
    before = content("user", "worlds", tangled)
    change = KnobChange("user.worlds.travel.reveal_kinds", ["a", "b"], ["a"])
    with pytest.raises(knobs.Refused, match="Change it by hand"):
        knobs.edit("user", before, [change])


def test_a_knob_cannot_be_taken_out_of_a_file() -> None:
    with pytest.raises(knobs.Refused, match="lacks gamma"):
        knobs.edit("agent", content("agent"), [KnobChange("agent.gamma", 1.0, ABSENT)])
