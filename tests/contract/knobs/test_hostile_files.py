"""Whatever bytes stand in a file, reading it ends in values or in a refusal, and runs nothing."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gate.contract import knobs
from gate.contract.knobs import KnobChange, tree
from tests.contract.knobs import material

TOKENS = [
    b'"\\UFFFFFFFF"', b'"\\x1b[31m"', b'"\\ud800"', b"? ", b": ", b"- ", b"\n", b"[", b"]", b"{",
    b"}", b"&a ", b"*a", b"!!x ", b"! ", b"!<x> ", b"%", b"|", b">", b"|9", b"'", b'"', b"\t",
    b"#", b"---", b"...", b"\r", b"\xef\xbb\xbf", b"\xc2\x85", b"<<: ", b"@", b"`", b"\\", b",",
    b"\xf0\x9f\x98\x80", b"\xff", b"\x00", b"~", b"worlds", b"  ", knobs.END.encode(),
]  # fmt: skip


@st.composite
def _damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    file = draw(st.sampled_from(knobs.FILES))
    text = knobs.render_defaults(file)
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        stop = start + draw(st.sampled_from([0, 0, 1, 5, 40]))
        text = text[:start] + draw(st.sampled_from(TOKENS) | st.binary(max_size=3)) + text[stop:]
    return file, text


def _lines(text: bytes) -> int:
    """Lines of a file, where CR ends one as LF and CRLF do, and one more for what is missing."""
    return len(re.split(rb"\r\n|\r|\n", text)) + 1


@settings(deadline=None, max_examples=250)
@given(_damaged())
@example(("user", b'a: "\\UFFFFFFFF"'))
@example(("user", b"\r\r\r\rno_such_knob: 1"))
def test_a_damaged_file_is_read_or_refused_with_lines_it_has(damaged: tuple[str, bytes]) -> None:
    file, text = damaged
    try:
        knobs.parse(file, text, worlds=material.WORLDS)
    except knobs.Refused as refused:
        for finding in refused.findings:
            assert finding.message.endswith(".") and finding.next_step[-1] in ".?"
            assert finding.line is None or 1 <= finding.line <= _lines(text)
            shown = f"{finding} {json.dumps(finding.to_json(), ensure_ascii=False)}"
            assert shown.encode()


@settings(deadline=None, max_examples=100)
@given(_damaged())
def test_an_edit_of_a_damaged_file_is_right_or_refused(damaged: tuple[str, bytes]) -> None:
    file, text = damaged
    key = {"user": "persona", "environment": "max_steps", "reward": "task_weight"}.get(
        file, "gamma"
    )
    new = {"user": "warm", "environment": 20, "reward": 2.0}.get(file, 0.95)
    try:
        edited = knobs.edit(file, text, [KnobChange(f"{file}.{key}", None, new)])
    except knobs.Refused:
        return
    assert knobs.parse(file, edited, worlds=material.WORLDS).values[key] == new


@pytest.mark.parametrize("escape", ["\\0", "\\x1b[31m", "\\ud800", "\\u202e", "\\x85"])
def test_no_escape_smuggles_in_a_character_that_a_terminal_would_obey(escape: str) -> None:
    for line in (f'"{escape}": 1', f'persona: "{escape}"'):
        text = f"{line}\n{knobs.END}\n".encode()
        (finding,) = material.refusal("user", text).findings
        assert "An escape stands for" in finding.message
        assert str(finding).isprintable()


def test_a_deep_or_wide_file_is_refused_quickly() -> None:
    for text in (b"[" * 100_000, b"{a: " * 50_000, b"- " * 100_000, b"a: " * 80_000):
        assert material.refusal("user", text + b"\n" + knobs.END.encode()).findings


def test_a_text_that_was_not_decoded_first_is_refused_too() -> None:
    with pytest.raises(tree.Unreadable, match="stands for none"):
        tree.read("a: \0")
