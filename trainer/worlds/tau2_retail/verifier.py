"""The tau2_retail verifier: what a dialogue at the desk came to, from its turns alone.

Most of the benchmark's tasks here hold statements that only a judge model could decide. Where the
recipe names none, none counts as met: `COMMUNICATE` stands in, and the number is `pass_no_nl`. With
a judge they must hold, and the number is `pass` (`trainer.worlds.tau2.judged`).

The components of the reward are `trainer.worlds.tau2.scoring`. Knows nothing about prompts,
shaping or user engines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainer.episode import Turn
from trainer.question import Answers, Questions
from trainer.task import Task
from trainer.worlds.seam import Verdict
from trainer.worlds.tau2 import judged
from trainer.worlds.tau2.service import Service

from .tools import DOMAIN, shape  # noqa: TID252 - the folder is loaded by path

SERVICE = Service(DOMAIN, agent=shape, metric="pass_no_nl")
bases_of = SERVICE.bases_of


def rejudge(
    task: Task,
    turns: Sequence[Turn],
    settings: Mapping[str, Any] | None = None,
    answers: Answers | None = None,
) -> Verdict | Questions:
    """Judge a recorded dialogue; of the world's settings only `judge` matters for its worth.

    Args:
        task: The task that was played.
        turns: The recorded conversation.
        settings: The world's settings at the time.
        answers: What a judge said, by question.

    Returns:
        The verdict, or what a judge must be asked for it.
    """
    if not (settings or {}).get("judge"):
        return SERVICE.rejudge(task, turns)
    bases, said = bases_of(task), answers or {}
    return judged.rejudge(DOMAIN, task, turns, bases, metric=SERVICE.metric, answers=said)
