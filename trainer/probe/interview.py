"""An interview: a user asked everything there is to ask, without any world in between.

The user engine is the checkout's and the rules are the candidate's, which are data; so this needs
no process of its own. Replies are recorded and not judged here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trainer import seeds
from trainer.episode import Speaker, Turn
from trainer.probe.questions import cue_questions, greedy_questions, questions_for
from trainer.probe.subject import Subject, Version
from trainer.task import Task
from trainer.users.seam import UserEngine, UserReply, UserRequest, UserState

ROUNDS_BEYOND = 2
"""How many more times than `max_reveals` each question is asked."""


@dataclass(frozen=True)
class Exchange:
    """One message and what the user said to it."""

    task: Task
    message: str
    before: UserState
    reply: UserReply


def held(version: Version, task: Task, messages: Iterable[str], *, seed: int) -> Iterator[Exchange]:
    """Yield one dialogue, message by message; what the user remembers goes on with it."""
    return exchanges(version.user, version.user_settings, task, messages, seed=seed)


def exchanges(
    user: UserEngine,
    settings: Mapping[str, Any],
    task: Task,
    messages: Iterable[str],
    *,
    seed: int,
) -> Iterator[Exchange]:
    """Yield one dialogue with a user engine (see `held`)."""
    state, history = UserState(), (Turn(Speaker.USER, task.opening, 0),)
    for number, message in enumerate(messages):
        history = (*history, Turn(Speaker.AGENT, message, number))
        request = UserRequest(task, history, message, state, settings, seeds.derive(seed, "user"))
        (reply,) = user.reply([request])
        if not isinstance(reply, UserReply):
            return
        yield Exchange(task, message, state, reply)
        history = (*history, Turn(Speaker.USER, reply.text, number))
        state = reply.state


def interrogations(subject: Subject, version: Version) -> list[Exchange]:
    """Return every exchange of the interviews about all tasks under probe, held once.

    One dialogue for each task asks for every fact again and again; a second one asks for several
    facts at once, and for everything.

    Raises:
        OutOfTime: if the check in progress has no time left.
    """
    if version.label not in subject.interviews:
        subject.interviews[version.label] = list(_interrogations(subject, version))
    return subject.interviews[version.label]


def _interrogations(subject: Subject, version: Version) -> Iterator[Exchange]:
    rounds = int(version.user_settings["max_reveals"]) + ROUNDS_BEYOND
    for task in subject.tasks:
        subject.budget.ask()
        seed = subject.episode_seed(task)
        patient = [question for question in cue_questions(task) for _ in range(rounds)]
        other = [question for fact in task.facts for question in questions_for(fact)[1:]]
        yield from held(version, task, (*patient, *other, *patient), seed=seed)
        yield from held(version, task, greedy_questions(task) * rounds, seed=seed)
