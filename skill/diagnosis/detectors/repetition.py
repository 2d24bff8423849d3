"""Repetition: the same words whatever the task, or the same word on and on.

Worlds with one fixed protocol have few words to choose from, so likeness is always compared with
that of what the users said.
"""

from __future__ import annotations

import re
from collections import Counter

from skill.diagnosis import signals
from skill.diagnosis.dialogue import Dialogue
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

FEWEST_PAIRS = 10
TEMPLATE_LIKENESS = 0.75
"""Median share of common words between what is said in two different tasks."""
DIFFERENT_INPUT = 0.25
"""How much less alike the users' words must be than the agent's."""
FEWEST_BROKEN = 5
LARGEST_BROKEN_SHARE = 0.05

_RUN = re.compile(r"([^\s.=_-])\1{11,}")


def detect(window: Window) -> Symptom | None:
    """Look for broken messages first, then for one template over all tasks.

    Source:
        Collapse to a template keeps the entropy up and shows only in how little an answer
        depends on its task (RAGEN-2, arXiv 2604.06268).
    """
    return _broken(window) or _template(window)


def _broken(window: Window) -> Symptom | None:
    spoken = [(one, index) for one in window.recent for index in one.spoken_by("agent")]
    broken = [(one, index) for one, index in spoken if _runs_on(one.text(index))]
    if len(broken) < FEWEST_BROKEN or len(broken) <= LARGEST_BROKEN_SHARE * len(spoken):
        return None
    episode, turn = broken[-1]
    return Symptom(
        "repetition",
        Party.POLICY,
        f"{len(broken)} of {len(spoken)} recent agent messages repeat one word or character.",
        tuple(one.cite(at) for one, at in broken[-6:]),
        "Losses and gradient norms in steps.jsonl around the first such step: not finite, or a "
        "burst? Entropy and KL next; a restart from the last good checkpoint if weights broke.",
        quote=episode.text(turn),
    )


def _template(window: Window) -> Symptom | None:
    pairs = [
        (first, second)
        for first, second in zip(window.recent, window.recent[1:], strict=False)
        if first.task != second.task
        and first.world == second.world
        # What the users say must leave the agent room to differ.
        and first.spoken_by("agent")
        and second.spoken_by("agent")
    ]
    if len(pairs) < FEWEST_PAIRS:
        return None
    said = [signals.likeness(_words(a, "agent"), _words(b, "agent")) for a, b in pairs]
    heard = [signals.likeness(_words(a, "user"), _words(b, "user")) for a, b in pairs]
    alike, given = signals.median(said) or 0.0, signals.median(heard) or 0.0
    if alike < TEMPLATE_LIKENESS or alike - given < DIFFERENT_INPUT:
        return None
    example = pairs[-1][1]
    return Symptom(
        "template_collapse",
        Party.POLICY,
        f"Between different tasks {alike:.0%} of the agent's words are the same, against "
        f"{given:.0%} of the users' words: what it says hardly depends on what it hears.",
        tuple(one.cite() for pair in pairs[-3:] for one in pair),
        "Entropy may look healthy: read three dialogues side by side. Then agent.entropy_coeff, "
        "agent.kl_coeff and the variety of tasks (environment.task_mix).",
        quote=_words(example, "agent"),
    )


def _runs_on(text: str) -> bool:
    words = text.split()
    if len(words) >= 12 and Counter(words).most_common(1)[0][1] > 0.6 * len(words):
        return True
    return _RUN.search(text) is not None


def _words(episode: Dialogue, speaker: str) -> str:
    turns = (index for index, turn in enumerate(episode.turns) if turn.get("speaker") == speaker)
    return " ".join(episode.text(index) for index in turns)
