"""The tau world: one customer at the shop's or the airline's desk, by TauGym's moves.

The desk is tau2's, with the tools of the older benchmark (`desks`); this module reads an answer as
a tool call and a search as a look at the tools. It never waits for anybody: words to the customer
go out through the seam. What an ending is worth is `verifier`'s word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.message import Action, Choice, Reply
from trainer.task import Task
from trainer.worlds.prompt_style import prompt_style
from trainer.worlds.seam import Opening, StepResult, Verdict
from trainer.worlds.single_use import single_use
from trainer.worlds.tau2 import shelf
from trainer.worlds.tau2.desk import Desk

from . import verifier, wording  # noqa: TID252 - the folder is loaded by path
from .desks import desk_of  # noqa: TID252
from .reading import desk_move  # noqa: TID252

TURN_LIMIT = 16
_LOOKS = ("tools", "help")


@single_use
class TauEnv:
    """One customer's dialogue; see `trainer.worlds.seam.Env`."""

    def __init__(self, task: Task, settings: Mapping[str, Any]) -> None:
        domain = desk_of(task)
        policy = "\n\n".join(shelf.policy(task))
        self._domain = domain.name
        self._desk = Desk(
            domain,
            task,
            verifier.bases_of(task),
            settings,
            policy=policy,
            metric=verifier.METRIC,
            system=wording.system(
                domain.name,
                policy,
                prompt_style(settings),
                int(settings.get("max_steps", TURN_LIMIT)),
            ),
        )

    def start(self) -> Opening:
        """Begin the dialogue."""
        return self._desk.start()

    def act(self, action: Action) -> StepResult:
        """Show the tools, call one, or pass words on to the customer."""
        if action.choice is Choice.SEARCH:
            if action.content.strip().casefold() in _LOOKS:
                return StepResult(wording.listing(self._domain), events=("tools_listed",))
            return StepResult(
                "There is nothing to search here but `tools`.", events=("search_unclear",)
            )
        return self._desk.act(desk_move(action))

    def hear(self, reply: Reply) -> StepResult:
        """Note what a reply discloses, and whether the customer leaves with it.

        Raises:
            ValueError: if the reply names a fact that the task does not have.
        """
        return self._desk.hear(reply)

    def verdict(self) -> Verdict:
        """Judge the dialogue as it stands."""
        return verifier.told(self._desk.verdict())


def prepare(task: Task) -> None:
    """Read the database and the policy that tasks share, so that no episode has to."""
    verifier.bases_of(task)
    shelf.policy(task)


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> TauEnv:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    return TauEnv(task, settings)
