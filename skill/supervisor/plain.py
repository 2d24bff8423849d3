"""Plain command lines: what a shell would do with one is known without being a shell.

A line is plain if it is one command whose words stand as they are: nothing is expanded, joined,
redirected or run beside it. Whatever is not surely plain is refused with what to write instead.
Only the standard library is loaded, and nothing is known about which commands are good.
"""

from __future__ import annotations

LONGEST = 100_000
"""Characters of a command line; a lesson, the longest text that is told by one, has 65,536."""

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+#-")
"""Characters that mean themselves outside of quotes, in every shell."""
_NOT_FIRST = frozenset("=#")
"""At the start of a word zsh looks up a program, and every shell begins a comment."""
_ALIVE = frozenset('$`\\!"')
"""Characters that mean more than themselves within double quotes."""


class NotPlain(ValueError):
    """A command line that a shell would do more with than to run one command."""


def words(line: str) -> list[str]:
    """Return the words of a plain command line, as the shell would hand them over.

    Args:
        line: As it would be given to a shell; a line may end in a backslash to go on.

    Raises:
        NotPlain: if it is anything else than one command and its words.
    """
    if len(line) > LONGEST:
        raise NotPlain(f"it has {len(line)} characters, of at most {LONGEST}: say less at once")
    line = line.strip(" \n")
    found: list[str] = []
    word: str | None = None
    at = 0
    while at < len(line):
        one = line[at]
        if one in " \t":
            found += [] if word is None else [word]
            word = None
        elif one in "'\"":
            end = line.find(one, at + 1)
            if end < 0:
                raise NotPlain(
                    f"the quote {one} is not closed: close it, in quotes of the other kind"
                )
            word = (word or "") + _quoted(line[at + 1 : end], one)
            at = end
        elif line[at : at + 2] == "\\\n":
            at += 1
        elif one not in _BARE or (word is None and one in _NOT_FIRST):
            raise NotPlain(f"{one!r} stands outside of quotes: run one command, its texts in '...'")
        else:
            word = (word or "") + one
        at += 1
    return found if word is None else [*found, word]


def _quoted(text: str, quote: str) -> str:
    """Return what stands between two quotes."""
    for one in text:
        if quote == '"' and one in _ALIVE:
            raise NotPlain(f"{one!r} means more within double quotes: put the text in '...'")
        if one not in "\n\t" and (ord(one) < 0x20 or 0x7F <= ord(one) < 0xA0):
            raise NotPlain(f"{one!r} is a control character: leave it out")
    return text
