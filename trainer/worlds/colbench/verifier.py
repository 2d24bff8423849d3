"""The colbench verifier: what an answer is worth, and what the dialogue before it found out.

`rejudge` finds the answer in a recorded dialogue by the same reading as the world and runs it
again, so a recorded verdict can be held against the code. Knows nothing about prompts, shaping
or user engines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.message import Action, Choice, read_action
from trainer.task import Task
from trainer.worlds.seam import Verdict

from . import reading  # noqa: TID252 - the folder is loaded by path
from .grading import Grade, grade  # noqa: TID252

TURN_LIMIT = 10
TOOL_DEADLINE_S = 10.0
"""What the knob `tool_deadline_s` is where nobody says, as in scripted play."""
SCORING_SHARE = 0.8
"""Share of that knob which an answer's scoring may take: what hangs must cost its calls before it
costs the episode."""
SCORINGS = ("fresh", "strict")
SLACK = 1e-9


@dataclass(frozen=True)
class ColbenchState:
    """What has happened so far, as far as it matters for the verdict."""

    learnt: frozenset[str] = frozenset()
    """Ids of the facts that were disclosed."""
    num_turns: int = 0
    """Agent turns so far, malformed ones included."""
    grade: Grade | None = None
    """None as long as nothing was answered."""


def answer_of(action: Action, *, is_last: bool) -> str | None:
    """Return the answer that an action gives, or None when it gives none.

    Args:
        action: The agent's move.
        is_last: True on the last turn, whose words are the answer with or without a marker.
    """
    if action.choice is Choice.ANSWER:
        said = reading.spoken(action.content)
        marked = reading.answer_in(said)
        return said if marked is None else marked
    if action.choice is not Choice.ACTION:
        return None
    said = reading.spoken(action.content)
    marked = reading.answer_in(said)
    return said if marked is None and is_last else marked


def judge(task: Task, answer: str, settings: Mapping[str, Any]) -> Grade:
    """Return what an answer is worth; see `grading.grade`."""
    unsandboxed = settings.get("unsandboxed", "label")
    if unsandboxed not in ("label", "refuse"):
        raise ValueError(f"unsandboxed is {unsandboxed!r}; choose label or refuse")
    return grade(
        task.payload,
        answer,
        total_s=SCORING_SHARE * float(settings.get("tool_deadline_s", TOOL_DEADLINE_S)),
        refuse_unsandboxed=unsandboxed == "refuse",
    )


def share(given: Grade, settings: Mapping[str, Any]) -> float:
    """Return the share of calls passed under the scoring in force."""
    scoring = settings.get("scoring", "fresh")
    if scoring not in SCORINGS:
        raise ValueError(f"scoring is {scoring!r}; choose one of {', '.join(SCORINGS)}")
    return given.fresh if scoring == "fresh" else given.strict


def verdict(task: Task, state: ColbenchState, settings: Mapping[str, Any]) -> Verdict:
    """Judge a state; nothing is left to be paid, since the answer paid when it was given."""
    given = state.grade or Grade()
    passed = share(given, settings)
    return Verdict(
        success=passed,
        reward=0.0,
        metrics={
            "pass": passed,
            "succ": float(passed >= 1.0 - SLACK),
            "pass_fresh": given.fresh,
            "pass_strict": given.strict,
            "tests_tolerant": float(given.num_tolerant),
            "facts_learnt": len(state.learnt) / max(len(task.facts), 1),
            "sandboxed": float(given.sandboxed),
        },
    )


def rejudge(
    task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
) -> Verdict:
    """Judge a recorded dialogue from its turns alone.

    Args:
        task: The task that was played.
        turns: The recorded conversation; only agent turns and disclosed ids are read.
        settings: The world's settings at the time; of the limits, `max_steps` matters.
    """
    in_force = settings or {}
    limit = int(in_force.get("max_steps", TURN_LIMIT))
    state = ColbenchState()
    for turn in turns:
        if turn.speaker is Speaker.USER:
            state = replace(state, learnt=state.learnt | set(turn.revealed))
        elif turn.speaker is Speaker.AGENT and state.grade is None:
            state = replace(state, num_turns=state.num_turns + 1)
            answer = answer_of(read_action(turn.text), is_last=state.num_turns >= limit)
            if answer is not None:
                state = replace(state, grade=judge(task, answer, in_force))
    return verdict(task, state, in_force)
