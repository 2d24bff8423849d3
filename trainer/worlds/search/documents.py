"""Finds documents by their words: the more rarely a shared word occurs, the more it counts.

Pure functions of documents and a query; no index, since a task has a handful of documents. What
is done with the results is not known here.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

TITLE_FACTOR = 2.0
"""How much more a word of the title counts."""

_WORD = re.compile(r"[^\W_]+")
_SMALL_WORDS = frozenset(
    "a an and are as at be by did do does for from how in is it its of on or that the their this "
    "to was were what when where which who whose why will with".split()
)

Document = Mapping[str, str]
"""A `title` and a `text`."""


def find(documents: Sequence[Document], query: str, limit: int) -> list[Document]:
    """Return the documents that share a word with the query, best first, at most `limit`."""
    wanted = sorted(_words(query))
    titles = [_words(document["title"]) for document in documents]
    texts = [
        _words(document["text"]) | title for document, title in zip(documents, titles, strict=True)
    ]
    spread = Counter(word for words in texts for word in words)
    scores = []
    for index, (title, text) in enumerate(zip(titles, texts, strict=True)):
        score = sum(
            math.log(1 + len(documents) / spread[word]) * (TITLE_FACTOR if word in title else 1.0)
            for word in wanted
            if word in text
        )
        if score:
            scores.append((-score, index))
    return [documents[index] for _, index in sorted(scores)[:limit]]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _SMALL_WORDS
