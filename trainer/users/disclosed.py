"""Disclosed facts: which of a task's facts an utterance gives away.

By shared words, against both the fact and its statement; words that many facts of the task share
count little. It errs on the side of counting: a paraphrase without a shared word is missed, a
denial in the fact's own words is counted.
"""

from __future__ import annotations

from collections import Counter

from trainer.task import Task
from trainer.users.cues import content_words, words_of

DISCLOSED_SHARE = 0.6
"""Weighted share of a fact's words from which it counts as told."""


def disclosed_facts(text: str, task: Task) -> tuple[str, ...]:
    """Return the ids of the facts that a text tells, in task order."""
    spoken_words = words_of(text)
    spoken = " ".join(spoken_words)
    said = content_words(spoken_words)
    voiced = [
        [(content_words(words := words_of(source)), " ".join(words)) for source in sources]
        for sources in ((fact.text, fact.statement) for fact in task.facts)
    ]
    spread = Counter(
        word for forms in voiced for word in frozenset[str]().union(*(form for form, _ in forms))
    )
    return tuple(
        fact.id
        for fact, forms in zip(task.facts, voiced, strict=True)
        if any(
            (phrase and f" {phrase} " in f" {spoken} ") or _mostly_said(form, said, spread)
            for form, phrase in forms
        )
    )


def _mostly_said(form: frozenset[str], said: frozenset[str], spread: Counter[str]) -> bool:
    """Return whether enough of a form's weight was said."""
    weights = {word: 1.0 / spread[word] for word in sorted(form)}
    total = sum(weights.values())
    shared = sum(weight for word, weight in weights.items() if word in said)
    return total > 0.0 and shared >= DISCLOSED_SHARE * total - 1e-9
