"""A desk whose statements in natural language a judge decides, and its verdict from turns alone.

A judge is asked at the end, and only where its word can matter: the user ended the dialogue and all
else of the task's basis is met. Then every statement must hold, and nothing stands in for them; an
empty list of them passes, as in the benchmark. What the dialogue came to without a judge stays
among the metrics under its own name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from trainer.episode import Speaker, StopReason, Turn
from trainer.message import Action, Choice, Reply, read_action
from trainer.question import (
    Answer,
    Answers,
    Passage,
    Question,
    Questions,
    transcript,
)
from trainer.task import Task
from trainer.worlds.seam import Opening, StepResult, Verdict
from trainer.worlds.tau2 import verdicts
from trainer.worlds.tau2.case import Component
from trainer.worlds.tau2.desk import Desk
from trainer.worlds.tau2.office import Bases, Domain
from trainer.worlds.tau2.session import Session
from trainer.worlds.tau2.verdicts import ENDED

METRIC = "pass"
"""Name of the judged reward among the metrics."""
ASKS = (
    "An agent at a service desk has served a user; the conversation is over, and the agent's calls "
    "of tools are shown with what they returned. Does each statement hold for what the agent did "
    "and said? A tool that refused has done nothing."
)


class _Judged(NamedTuple):
    """What a session is worth with a judge's word, as far as it is given."""

    success: float
    statements: Answer
    """One for each statement that was asked about; empty where none was."""
    missing: Question | None
    """What must be asked first; then the success is not known."""


class Conversation:
    """The words of a dialogue as a judge reads them, the same lived as recorded."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        self._said: list[tuple[str, str]] = []

    def agent(self, action: Action) -> None:
        """Note a move of the agent's."""
        if action.choice is Choice.TOOL:
            call = {"name": action.name, "arguments": dict(action.arguments)}
            self._said.append(("agent calls", json.dumps(call, sort_keys=True)))
        else:
            self._said.append(("agent", action.content))

    def user(self, words: str) -> None:
        """Note words of the user's."""
        self._said.append(("user", words))

    def tool(self, observation: str) -> None:
        """Note what the agent read of a tool; nothing for nothing, or for the user's leaving."""
        if observation and observation != ENDED:
            self._said.append(("tool", observation))

    def question(self, session: Session) -> Question:
        """Return what a judge is asked about a session of these words."""
        return Question(
            asks=ASKS,
            criteria=session.case.nl_assertions,
            material=(Passage("the conversation, a line a message", transcript(self._said)),),
        )


class JudgedDesk:
    """A desk that asks a judge at its end; see `trainer.worlds.seam.JudgedEnv`."""

    def __init__(self, desk: Desk, *, metric: str) -> None:
        """Open a desk.

        Args:
            desk: The desk that does everything else.
            metric: The world's name of the reward without a judge.
        """
        self._desk, self._metric = desk, metric
        self._words = Conversation()
        self._answers: dict[str, Answer] = {}
        self._held: StepResult | None = None
        """The result that waits for a judge's word."""

    def start(self) -> Opening:
        """See `Desk.start`."""
        opening = self._desk.start()
        self._words.user(opening.user)
        return opening

    def act(self, action: Action) -> StepResult | Questions:
        """See `Desk.act`."""
        result = self._desk.act(action)
        self._words.agent(action)
        return self._told(result)

    def hear(self, reply: Reply) -> StepResult | Questions:
        """See `Desk.hear`."""
        result = self._desk.hear(reply)
        self._words.user(reply.text)
        return self._told(result)

    def answered(self, answers: Answers) -> StepResult | Verdict | Questions:
        """Go on with what a judge was asked about."""
        self._answers |= answers
        if self._held is None:
            return self.verdict()
        return self._ended(self._held)

    def verdict(self) -> Verdict | Questions:
        """Judge the dialogue as it stands."""
        session = self._desk.session
        return _verdict(session, self._words, self._answers, metric=self._metric)

    def _told(self, result: StepResult) -> StepResult | Questions:
        self._words.tool(result.observation)
        return self._ended(result) if self._desk.session.ended else result

    def _ended(self, result: StepResult) -> StepResult | Questions:
        """Say how the dialogue ended, which hangs on a judge's word."""
        judged = _judge(self._desk.session, self._words, self._answers)
        if judged.missing is not None:
            self._held = result
            return Questions((judged.missing,))
        self._held = None
        stop = StopReason.SOLVED if judged.success == 1.0 else StopReason.FAILED
        return replace(result, stop=stop)


def rejudge(
    domain: Domain,
    task: Task,
    turns: Sequence[Turn],
    bases: Bases,
    *,
    metric: str,
    answers: Mapping[str, Answer],
) -> Verdict | Questions:
    """Judge a recorded dialogue; see `verdicts.rejudge`.

    Args:
        domain: The tools.
        task: The task that was played.
        turns: The recorded conversation.
        bases: The databases before the episode.
        metric: The world's name of the reward without a judge.
        answers: What a judge said, by question.
    """
    session, words = Session(domain, task, bases), Conversation()
    for turn, _ in verdicts.retrace(session, turns):
        if turn.speaker is Speaker.AGENT:
            words.agent(read_action(turn.text))
        elif turn.speaker is Speaker.USER:
            words.user(turn.text)
        elif turn.speaker is Speaker.TOOL:
            words.tool(turn.text)
    return _verdict(session, words, answers, metric=metric)


def _verdict(
    session: Session, words: Conversation, answers: Answers, *, metric: str
) -> Verdict | Questions:
    judged = _judge(session, words, answers)
    if judged.missing is not None:
        return Questions((judged.missing,))
    alone = verdicts.verdict(session, metric=metric)
    said = judged.statements
    return Verdict(
        success=judged.success,
        reward=judged.success,
        metrics={
            **alone.metrics,
            "nl_unjudged": 0.0,
            METRIC: judged.success,
            **({"nl_met": sum(said) / len(said)} if said else {}),
        },
    )


def _judge(session: Session, words: Conversation, answers: Answers) -> _Judged:
    if Component.NL_ASSERTION not in session.case.basis:
        return _Judged(session.score().reward, (), None)
    best = session.score(nl_met=True).reward
    if best < 1.0 or not session.case.nl_assertions:
        return _Judged(best, (), None)
    asked = words.question(session)
    said = answers.get(asked.digest)
    if said is None:
        return _Judged(0.0, (), asked)
    return _Judged(session.score(nl_met=all(said)).reward, said, None)
