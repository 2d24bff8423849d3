"""The desk: a tau2 domain as a world, where an agent serves one user by tools and words.

A turn is a tool call or words to the user, never both. Only the user ends a dialogue: by closing
it, or by leaving once words follow a hand-over. An agent that leaves, or whose calls are refused
too often, earns nothing. What all that is worth is the verifier's word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.episode import StopReason
from trainer.message import Action, Choice, Reply
from trainer.task import Task
from trainer.worlds import refusals
from trainer.worlds.prompt_style import prompt_style
from trainer.worlds.seam import Opening, StepResult, Verdict
from trainer.worlds.single_use import single_use
from trainer.worlds.tau2 import verdicts, wording
from trainer.worlds.tau2.office import TRANSFER, Bases, Domain
from trainer.worlds.tau2.session import Session
from trainer.worlds.tau2.verdicts import ENDED

MAX_TOOL_ERRORS = 10
TURN_LIMIT = 50


@single_use
class Desk:
    """One user's dialogue; see `trainer.worlds.seam.Env`."""

    def __init__(
        self,
        domain: Domain,
        task: Task,
        bases: Bases,
        settings: Mapping[str, Any],
        *,
        policy: str,
        metric: str,
        system: str | None = None,
    ) -> None:
        """Open a desk; nothing is said yet.

        Args:
            domain: The tools.
            task: The task to play.
            bases: Both databases as they are before any episode.
            settings: What the world was made with; `prompt_style`, `max_steps` and
                `max_tool_errors` matter here.
            policy: What the agent may and must do.
            metric: The world's name of the reward among its metrics.
            system: What the agent reads first; None for the words that all tau2 desks have.
        """
        self._domain = domain
        self._metric = metric
        self._max_errors = int(settings.get("max_tool_errors", MAX_TOOL_ERRORS))
        self._session = Session(domain, task, bases)
        if system is None:
            system = wording.system(
                policy,
                tuple(domain.agent.tools.values()),
                style=prompt_style(settings),
                max_steps=int(settings.get("max_steps", TURN_LIMIT)),
                history=self._session.case.history,
            )
        self._system = system

    @property
    def session(self) -> Session:
        """What the dialogue has come to."""
        return self._session

    def start(self) -> Opening:
        """Begin the dialogue."""
        return Opening(self._system, self._session.task.opening)

    def act(self, action: Action) -> StepResult:
        """Carry out a tool call, or pass words on to the user."""
        match action.choice:
            case Choice.TOOL if action.name in self._domain.agent.tools:
                return self._call(action)
            case Choice.TOOL if action.name in self._domain.user.tools:
                return _malformed(
                    f"{action.name} is a tool of the user's own; ask them in words to use it"
                )
            case Choice.ACTION:
                return self._say(action.content)
            case Choice.FINISH:
                return StepResult(events=("finished",), stop=StopReason.FAILED)
            case Choice.SEARCH | Choice.ANSWER:
                return _malformed("here a turn is a tool call or words to the user")
            case _:
                return _malformed(refusals.reason(action))

    def hear(self, reply: Reply) -> StepResult:
        """Note what a reply discloses, do what the user does with it, and see whether it ends.

        Raises:
            ValueError: if the reply names a fact that the task does not have.
        """
        known = self._session.learnt
        self._session.disclose(reply.revealed)
        new = len(self._session.learnt) - len(known)
        done = self._session.heed()
        events = ("fact_learnt",) * new + ("user_acted",) * len(done) or ("off_topic",)
        if not reply.ends:
            return StepResult(wording.seen_by_user(done), events=events)
        self._session.end()
        return self._over((*events, "user_ended"))

    def verdict(self) -> Verdict:
        """Judge the dialogue as it stands."""
        return verdicts.verdict(self._session, metric=self._metric)

    def _call(self, action: Action) -> StepResult:
        outcome = self._session.call(action.name, action.arguments)
        if self._session.ended:
            return self._over(("transferred", "handed_over"))
        if outcome.ok:
            event = "written" if outcome.mutates else "looked_up"
            handed = ("transferred",) if action.name == TRANSFER else ()
            return StepResult(outcome.text, events=handed or (event,))
        if self._session.num_refused >= self._max_errors:
            events = ("tool_error", "too_many_errors")
            return StepResult(outcome.text, events=events, stop=StopReason.FAILED)
        return StepResult(outcome.text, events=("tool_error",))

    def _say(self, words: str) -> StepResult:
        self._session.say(words)
        if self._session.ended:
            return self._over(("handed_over",))
        return StepResult(say=words)

    def _over(self, events: tuple[str, ...]) -> StepResult:
        """The user has gone: the observation is what a record is judged by again."""
        solved = self._session.score().reward == 1.0
        stop = StopReason.SOLVED if solved else StopReason.FAILED
        return StepResult(ENDED, events=events, stop=stop)


def _malformed(reason: str) -> StepResult:
    return StepResult(f"This could not be carried out: {reason}.", events=("malformed",))
