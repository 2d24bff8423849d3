"""The search world: a few searches among the task's documents, and answers until one is right.

The environment itself answers; there is no user and no network. A search that finds nothing says
so. What an answer is worth is `verifier`'s word, what is said `wording`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.episode import StopReason
from trainer.message import Action, Reply
from trainer.task import Task
from trainer.worlds.disclosure import refuse_unknown
from trainer.worlds.prompt_style import prompt_style
from trainer.worlds.seam import Opening, StepResult, Verdict
from trainer.worlds.single_use import single_use

from . import documents, verifier, wording  # noqa: TID252 - the folder is loaded by path
from .verifier import Move, SearchState  # noqa: TID252

_STOPS = {Move.ANSWER_RIGHT: StopReason.SOLVED, Move.FINISHED: StopReason.FAILED}


@single_use
class SearchEnv:
    """One question; see `trainer.worlds.seam.Env`."""

    def __init__(self, task: Task, settings: Mapping[str, Any]) -> None:
        self._task = task
        self._style = prompt_style(settings)
        self._max_steps = int(settings.get("max_steps", 16))
        self._max_searches = int(settings.get("max_searches", verifier.MAX_SEARCHES))
        self._num_results = int(settings.get("num_results", 5))
        self._state = SearchState()

    def start(self) -> Opening:
        """Begin."""
        system = wording.system(self._style, self._max_steps, self._max_searches)
        return Opening(system, self._task.opening)

    def act(self, action: Action) -> StepResult:
        """Search the documents or judge an answer."""
        move = verifier.move(self._task, self._state, action, self._max_searches)
        self._state = self._state.after(move)
        if move is Move.SEARCH:
            return self._search(action.content)
        return StepResult(
            observation=wording.observation(self._style, action, move),
            events=(move.value,),
            reward=float(move is Move.ANSWER_RIGHT),
            stop=_STOPS.get(move),
        )

    def hear(self, reply: Reply) -> StepResult:
        """Refuse a disclosure: nobody knows anything here but the documents."""
        refuse_unknown(self._task, reply.revealed, known=())
        return StepResult()

    def verdict(self) -> Verdict:
        """Judge what has happened so far."""
        return verifier.verdict(self._task, self._state)

    def _search(self, query: str) -> StepResult:
        found = documents.find(self._task.payload["documents"], query, self._num_results)
        return StepResult(
            observation=wording.results(self._style, found),
            events=("search_found" if found else "search_empty",),
        )


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> SearchEnv:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    return SearchEnv(task, settings)
