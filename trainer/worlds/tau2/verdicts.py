"""Verdicts: a scorecard as the seam's `Verdict`, also found again in recorded turns alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from trainer.episode import Speaker, Turn
from trainer.message import Action, Choice, read_action
from trainer.task import Task
from trainer.worlds.seam import Verdict
from trainer.worlds.tau2.case import Component
from trainer.worlds.tau2.office import Bases, Domain, Outcome
from trainer.worlds.tau2.session import Session

ENDED = "(The user has left the conversation.)"
"""What the world writes when the user has gone; nothing else writes it into a record."""


def verdict(session: Session, *, metric: str) -> Verdict:
    """Judge a session; all of the reward is owed at the end, on the last action.

    Args:
        session: The dialogue.
        metric: The world's name of the reward among its metrics.
    """
    card = session.score()
    return Verdict(
        success=card.reward,
        reward=card.reward,
        metrics={
            metric: card.reward,
            "db": float(card.met[Component.DB]),
            "env_assertion": float(card.met[Component.ENV_ASSERTION]),
            "action": float(card.met[Component.ACTION]),
            "communicate": float(card.met[Component.COMMUNICATE]),
            "nl_unjudged": float(card.num_unjudged),
            "db_changes": float(len(card.agent_changes) + len(card.user_changes)),
            "gold_faults": float(len(card.gold_faults)),
            "tool_errors": float(session.num_refused),
            "ended": float(card.ended),
            "facts_learnt": len(session.learnt) / max(len(session.task.facts), 1),
        },
    )


def rejudge(
    domain: Domain,
    task: Task,
    turns: Sequence[Turn],
    bases: Bases,
    *,
    metric: str,
    read: Callable[[str], Action] = read_action,
) -> Verdict:
    """Judge a recorded dialogue: its calls are made again, on a fresh state.

    Args:
        domain: The tools.
        task: The task that was played.
        turns: The recorded conversation; of the user's turns the disclosed ids are read.
        bases: The databases before the episode.
        metric: See `verdict`.
        read: What an agent's text means as a move.
    """
    session = Session(domain, task, bases)
    for _ in retrace(session, turns, read):
        pass
    return verdict(session, metric=metric)


def retrace(
    session: Session, turns: Iterable[Turn], read: Callable[[str], Action] = read_action
) -> Iterator[tuple[Turn, list[Outcome]]]:
    """Take a fresh session through recorded turns; yield each with the calls that it led to."""
    for turn in turns:
        done: list[Outcome] = []
        if turn.speaker is Speaker.USER:
            done = [*session.disclose(turn.revealed), *session.heed()]
        elif turn.speaker is Speaker.TOOL and turn.text == ENDED:
            session.end()
        elif turn.speaker is Speaker.AGENT and not session.ended:
            action = read(turn.text)
            if action.choice is Choice.TOOL and action.name in session.domain.agent.tools:
                done = [session.call(action.name, action.arguments)]
            elif action.choice is Choice.ACTION:
                session.say(action.content)
        yield turn, done
