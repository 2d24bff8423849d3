"""A turn that asks and answers is a question: it is counted, answered, and leads on like one."""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding
from trainer.probe.interview import held
from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.players import PERFECT, asserting
from trainer.probe.questions import cue_questions, with_offer
from trainer.probe.subject import SLACK, Subject, Version

NAME = "question_counts"
ASSERTING = "asserting"


def check(subject: Subject, version: Version) -> Outcome:
    """Ask everything twice, plainly and while offering an answer, of the user and of the world.

    Source:
        EAU: the counter of min_questions missed turns that both ask and answer, and 41% of the
        episodes were deadlocked.
    """
    uncounted, unanswered, asked = _of_the_user(subject, version)
    stuck = _of_the_world(subject, version)
    share = max(
        uncounted / asked if asked else 0.0,
        unanswered / asked if asked else 0.0,
        stuck / max(len(subject.tasks), 1),
    )
    return found(share, _findings(subject, uncounted, unanswered, asked, stuck))


def _of_the_user(subject: Subject, version: Version) -> tuple[int, int, int]:
    """Return how many such turns were not counted, were not answered, and how many there were."""
    uncounted = unanswered = asked = 0
    for task in subject.tasks:
        subject.budget.ask()
        seed = subject.episode_seed(task)
        for question in cue_questions(task):
            (plain,) = held(version, task, [question], seed=seed)
            (both,) = held(version, task, [with_offer(question)], seed=seed)
            asked += 1
            uncounted += both.reply.state.num_questions != plain.reply.state.num_questions
            unanswered += bool(plain.reply.revealed) and not both.reply.revealed
    return uncounted, unanswered, asked


def _of_the_world(subject: Subject, version: Version) -> int:
    """Return in how many tasks the oracle is stuck as soon as its questions offer something."""
    oracle = subject.world.players["oracle"]
    stuck = 0
    for task in subject.tasks:
        plain = subject.play(version, PERFECT, oracle, task)
        both = subject.play(version, ASSERTING, asserting(oracle), task)
        stuck += plain.claimed >= 1.0 - SLACK > both.claimed
    return stuck


def _findings(
    subject: Subject, uncounted: int, unanswered: int, asked: int, stuck: int
) -> Iterator[Finding]:
    cases = (
        (uncounted, asked, "turns that ask and answer are not counted as questions"),
        (unanswered, asked, "questions are answered alone and not beside an offer"),
        (
            stuck,
            len(subject.tasks),
            "tasks cannot be solved when every question comes with an offer",
        ),
    )
    for number, total, what in cases:
        if number:
            yield finding(
                NAME,
                f"In {subject.name} {number} of {total} {what} ({number / total:.0%}).",
                "Treat a turn that asks and answers as a question: `act: [ask, both]` in a rule, "
                "and the same count in code.",
                path=f"world.{subject.name}",
                value=round(number / total, 4),
                limit=0,
            )
