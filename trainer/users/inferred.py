"""Inferred strategies: what a reply does, read from its words alone.

A stand-in for users that give no label: the first pattern that fits decides, and what fits none
stays without a label rather than being guessed. A user's own label is always better; this module
is never asked where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from trainer.users.stopping import STOP, split_marker
from trainer.users.strategy import Strategy

MAX_CHARS = 2000
"""Of a longer reply the rest is not read."""

_CHANGE = (
    r"\bchanged? my mind\b|\bon second thoughts?\b"
    r"|\b(?:actually|instead),? (?:i|let|make|can|could)\b|\bi(?:'d| would) rather\b"
)
_FAREWELL = (
    r"\b(?:good)?bye\b|\bthat(?:'s| is) all\b|\bthat will be all\b|\bnothing else\b"
    r"|\bwe(?:'re| are) done\b|\bi(?:'m| am) all set\b"
)
_OBJECTION = (
    r"^no\b(?! (?:preference|idea|problem|rush|worries))|\bnot what i\b"
    r"|\bthat(?:'s| is)(?: not|n't) |\b(?:is|are|was) wrong\b|\bincorrect\b"
    r"|\bi (?:do not|don't|did not|didn't) (?:want|ask|like)\b"
    r"|\bmistake\b|\bask me (?:\w+ )?(?:more|first)\b"
)
_VAGUE = (
    r"\b(?:do not|don't|can't|cannot) (?:really )?(?:remember|recall|know|care|mind|say)\b"
    r"|\bnot (?:really )?sure\b|\bno (?:preference|idea)\b|\bwhatever\b|\bhard to say\b"
    r"|\bit depends\b|\bi have nothing to say\b|\b(?:told you|as i said)\b"
    r"|\bdoes(?: not|n't) matter\b|\byou (?:choose|decide|pick)\b|\bplease choose\b|\bup to you\b"
)
_QUESTION = (
    r"\?|\bwhat do you mean\b|\bask (?:me )?(?:about|something)\b|\bbe (?:more )?specific\b"
    r"|\bdo(?: not|n't) (?:understand|follow)\b|\bunclear\b"
)
_CONFIRMATION = (
    r"^(?:yes|yeah|yep|ok|okay|sure|right|correct|exactly|perfect|great|good|fine|please do)\b"
    r"|\b(?:sounds|looks) (?:good|great|right|fine)\b"
    r"|\bthat(?:'s| is) (?:right|correct|fine|good)\b|\bgo ahead\b|\bthank(?:s| you)\b|\bi agree\b"
)
_LADDER = tuple(
    (re.compile(pattern, re.IGNORECASE), strategy)
    for pattern, strategy in (
        (_CHANGE, Strategy.CHANGE_MIND),
        (_FAREWELL, Strategy.CLOSE),
        (_OBJECTION, Strategy.CHALLENGE_SOLUTION),
        (_VAGUE, Strategy.BE_VAGUE),
        (_QUESTION, Strategy.ASK_CLARIFICATION),
        (_CONFIRMATION, Strategy.CONFIRM),
    )
)
"""The first that fits decides: an objection may hold a question, and both may begin politely."""


def infer_strategy(text: str, *, revealed: Sequence[str] = ()) -> Strategy:
    """Return the strategy that a reply's words show, INVALID if they show none.

    A stop marker closes the conversation, a transfer or an out-of-scope marker is no label, and a
    reply that discloses a fact reveals a piece whatever else it says.

    Args:
        text: The reply, as the agent reads it or with its stop marker.
        revealed: Ids of the facts that it discloses.
    """
    words, marker = split_marker(text[:MAX_CHARS])
    if marker is not None:
        return Strategy.CLOSE if marker == STOP else Strategy.INVALID
    if revealed:
        return Strategy.REVEAL_PIECE
    plain = words.strip().replace("’", "'")
    return next(
        (strategy for pattern, strategy in _LADDER if pattern.search(plain)), Strategy.INVALID
    )
