"""Whoever says the same in other words is served the same: the world knows no favourite player.

A candidate that recognises the oracle's sentences, and serves nobody else, is told from an honest
one by an oracle that is more polite, by plain questions, which must bring out in the world what
they bring out of the user alone, and by the wordings of one question, which must not matter much.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding
from trainer.probe.interview import held
from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.players import PERFECT, QUESTIONER, polite, questioner
from trainer.probe.questions import FORMS, cue_questions, in_form
from trainer.probe.subject import SLACK, Subject, Version

NAME = "even_handed"
POLITE = "polite"
LEAST_SHARE = 0.5
"""Share of what plain questions bring out of the user that must come out in the world as well, and
of what one wording brings out that another must."""


def check(subject: Subject, version: Version) -> Outcome:
    """Play the oracle in politer words, and compare plain questions with and without the world."""
    lost = _lost_by_politeness(subject, version)
    heard, due = _heard_by_asking(subject, version)
    unheard = 1.0 - heard / due if due else 0.0
    by_form = _told_by_form(subject, version)
    uneven = 1.0 - min(by_form.values()) / max(by_form.values()) if any(by_form.values()) else 0.0
    share = max(len(lost) / max(len(subject.tasks), 1), unheard, uneven)
    findings = [
        *_polite(subject, lost),
        *_plain(subject, heard, due),
        *_uneven(subject, by_form, uneven),
    ]
    return found(share if findings else 0.0, findings)


def _lost_by_politeness(subject: Subject, version: Version) -> list[str]:
    oracle = subject.world.players["oracle"]
    lost: list[str] = []
    for task in subject.tasks:
        plain = subject.play(version, PERFECT, oracle, task).claimed
        other = subject.play(version, POLITE, polite(oracle), task).claimed
        if other < plain - SLACK:
            lost.append(task.id)
    return lost


def _heard_by_asking(subject: Subject, version: Version) -> tuple[int, int]:
    """Return how many facts plain questions bring out in the world, and of the user alone."""
    heard = due = 0
    for task in subject.few:
        played = subject.play(version, QUESTIONER, questioner, task, among=subject.few)
        turns = played.episode.turns
        heard += len({fact for turn in turns for fact in turn.revealed})
        asked = cue_questions(task)[: played.episode.num_agent_turns]
        dialogue = held(version, task, asked, seed=subject.episode_seed(task))
        due += len({fact for one in dialogue for fact in one.reply.revealed})
    return heard, due


def _told_by_form(subject: Subject, version: Version) -> dict[str, int]:
    """Return how many facts each wording of a plain question brings out of the user."""
    told: dict[str, int] = dict.fromkeys(FORMS, 0)
    for task in subject.tasks:
        subject.budget.ask()
        for form in FORMS:
            for fact in task.facts:
                question = in_form(fact, form)
                if question is not None:
                    (one,) = held(version, task, [question], seed=subject.episode_seed(task))
                    told[form] += fact.id in one.reply.revealed
    return told


def _uneven(subject: Subject, by_form: dict[str, int], uneven: float) -> Iterator[Finding]:
    if uneven > 1.0 - LEAST_SHARE:
        least, most = min(by_form, key=by_form.__getitem__), max(by_form, key=by_form.__getitem__)
        yield finding(
            NAME,
            f"The user of {subject.name} tells {by_form[most]} facts to questions like {most!r}, "
            f"and {by_form[least]} to questions like {least!r}.",
            "Let the rules of user.yaml depend on what is asked, not on the wording.",
            path=f"world.{subject.name}.user",
            value=by_form[least],
            limit=by_form[most],
        )


def _polite(subject: Subject, lost: list[str]) -> Iterator[Finding]:
    if lost:
        yield finding(
            NAME,
            f"In {len(lost)} of {len(subject.tasks)} tasks of {subject.name}, as in {lost[0]}, "
            "the oracle succeeds in its own words and fails with the same words said politely.",
            "Let the world depend on what is asked, not on who asks how.",
            path=f"world.{subject.name}",
            value=round(len(lost) / len(subject.tasks), 4),
            limit=0,
        )


def _plain(subject: Subject, heard: int, due: int) -> Iterator[Finding]:
    if heard < LEAST_SHARE * due:
        yield finding(
            NAME,
            f"Plain questions bring out {due} facts of the user of {subject.name}, and only "
            f"{heard} of them when they go through the world.",
            "Let the world pass words to the user on, whoever says them.",
            path=f"world.{subject.name}.env",
            value=heard,
            limit=due,
        )
