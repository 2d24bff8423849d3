"""A proposal knows nothing of the evaluation: no path, no task id, no score, no canary of it.

Whoever tunes training on the held-out tasks has no held-out tasks left. The whole text counts,
comments and values included, however it is quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Finding
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="No path, task id, score or canary of the evaluation stands anywhere in a proposal or "
    "in a file of a world that it brings.",
    answers="rllm#143: training success rises and evaluation falls; EAU: evaluation data must "
    "never steer training.",
    by_hand="silent",
)

CANARY = "eau-evaluation-"
"""How the canaries of all worlds begin."""

_TEST = r"(?<![a-z])(?:eval(?:uation)?s?|held[- _]?out|hold[- _]?out|test[- _]?set)(?![a-z])"
_SCORE = r"(?:score|success|accurac|result|reward|pass[@^]|metric|coverage)"
_SCORES = re.compile(rf"{_TEST}[^\n]{{0,40}}?{_SCORE}|{_SCORE}[^\n]{{0,40}}?{_TEST}")
_PATHS = re.compile(r"(?<![a-z])evaluations?/|/evaluations?(?![a-z])")


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for each kind of evaluation data in a proposal."""
    proposal = change_set.proposal
    if proposal is None:
        return
    new: list[Any] = [change.to_json().get("new") for change in change_set.changes]
    texts = [proposal.text, proposal.why, json.dumps(new, ensure_ascii=False)]
    texts += [_added(change, path) for change in change_set.worlds for path in change.edits]
    text = "\n".join(texts).lower()
    found = {
        "a canary": _first(text, {CANARY}),
        "an id or a place": _first(text, change_set.known.evaluation_words),
        "a path": _match(_PATHS, text),
        "a score": _match(_SCORES, text),
    }
    for what, words in found.items():
        if words is not None:
            yield change_set.finding(
                "holdout",
                "proposal",
                f"Proposal {proposal.number} holds {what} of the evaluation: {words}.",
                "Take it out, and argue from training records alone.",
                value=words,
            )


def _added(change: WorldChange, path: str) -> str:
    """Return the lines of a file that are not in force already."""
    before = set(change.before.get(path, b"").decode("utf-8", "replace").splitlines())
    return "\n".join(line for line in change.text(path).splitlines() if line not in before)


def _first(text: str, words: frozenset[str] | set[str]) -> str | None:
    return min((word for word in words if word in text), default=None)


def _match(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match.group() if match else None
