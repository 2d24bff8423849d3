"""A plain command line is read as the shell reads it, and any other is refused."""

from __future__ import annotations

import subprocess

import pytest

from skill.supervisor import plain

PLAIN = [
    "status.py latest --json",
    "  status.py\tlatest \n",
    "lesson.py new --title 'It costs $5 & more; *why*?' --text \"it's so, we saw | it\"",
    "lesson.py new --text 'two\n\tlines'",
    "propose.py latest \\\n    --set user.min_questions=1 --expect success:up:0.1",
    "a'b c'\"d\"e '' \"\"",
    "episodes.py latest --episode episodes/000012.jsonl#000012-05@3 50%",
    "lesson.py search 'schöne 東京 🙂'",
]


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_line_has_the_words_that_a_shell_hands_over(line: str) -> None:
    program = f'words() {{ for w in "$@"; do printf "%s\\0" "$w"; done; }}; words {line}'
    told = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert plain.words(line) == told.stdout.split("\0")[:-1]


@pytest.mark.parametrize(
    "line",
    [
        *("a; b", "a & b", "a && b", "a || b", "a | b", "a\nb", "a\r\nb", "(a)", "{ a; }", "! a"),
        *("a > b", "a >> b", "a < b", "a <<< b", "a 2>&1", "a <(b)", "a << E\nE"),
        *("a $b", "a ${b}", "a $(b)", "a `b`", 'a "$b"', 'a "$(b)"', 'a "`b`"', "a$IFS$9b"),
        *("a *", "a b?", "a [bc]", "a {b,c}", "a ~/b", "a ~root", "a =ls", "a #b"),
        *("a \\b", "a \\", "a 'b", 'a "b', 'a "b\\"c"', 'a "b!c"', "a $'\\x41'", 'a $"b"', "a ^b"),
        *("a\x00b", "a '\x00'", "a '\x1b[0m'", "a '\x85'", "a\x0bb", "a 'b\rc'"),
        *("a\u00a0b", "a\u2003b", "а", "ａ", "a\u2028b", "a\u200bb"),
    ],
)
def test_whatever_a_shell_would_do_more_with_is_refused(line: str) -> None:
    with pytest.raises(plain.NotPlain, match=r"quote|character|\.\.\."):
        plain.words(line)


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(plain.NotPlain, match="of at most 100000"):
        plain.words("a" * 100_001)
