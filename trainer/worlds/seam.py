"""The seam between the trainer and a world: what crosses it, in plain values.

An `Env` is single-use: it starts once, answers actions and replies until it stops, and is thrown
away. It is synchronous and deterministic: the same task, settings, seed and inputs give the same
results. It runs in a process of its own (`trainer.worlds.host`), so nothing here knows about
models, users' engines or knobs files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from trainer.episode import StopReason
from trainer.message import Action, Reply
from trainer.question import Answers, Questions
from trainer.task import Task


@dataclass(frozen=True)
class Opening:
    """What the agent reads before its first move."""

    system: str
    """Rules of the world and of its actions."""
    user: str
    """The user's first message."""


@dataclass(frozen=True)
class StepResult:
    """What the world answers to an action of the agent or to a reply of the user."""

    observation: str = ""
    """Tool text for the agent; empty when there is none."""
    say: str | None = None
    """Words to pass to the user, when the action was addressed to them."""
    events: tuple[str, ...] = ()
    """Names of what happened, all declared in `world.yaml`; shaping rules listen to them."""
    reward: float = 0.0
    """Task reward that this move earned, by the verifier's scale; finite."""
    stop: StopReason | None = None
    """SOLVED or FAILED when the world is over."""
    withdrawn: tuple[str, ...] = ()
    """Ids of facts that have become pointless and that the user no longer offers."""


@dataclass(frozen=True)
class Verdict:
    """The verifier's word on the final state."""

    success: float
    """In [0, 1]; 1 is full success."""
    reward: float
    """Task reward still to be paid on the last action; finite."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """The world's own numbers, declared in `world.yaml`."""


class Env(Protocol):
    """A world for one episode."""

    def start(self) -> Opening:
        """Begin; called once, first."""
        ...

    def act(self, action: Action) -> StepResult:
        """Carry out one move of the agent.

        A malformed action is answered with an observation that says what is wrong and the event
        `malformed`; the trainer decides when too many of them end the episode.
        """
        ...

    def hear(self, reply: Reply) -> StepResult:
        """Take note of the user's answer to what `say` passed on.

        Raises:
            ValueError: if it discloses a fact that the task does not have; see
                `trainer.worlds.disclosure`.
        """
        ...

    def verdict(self) -> Verdict:
        """Judge the state as it is, also after a limit cut the episode; called once, last."""
        ...


class JudgedEnv(Protocol):
    """A world that may leave something to a judge model; `world.yaml` says so under `judge`.

    Where the recipe names a judge it is made with the setting `judge: true`, and any of these may
    then answer with `Questions` in place of its result. The trainer has them answered and calls
    `answered`, which goes on where the world left off. Without that setting it asks nothing: its
    own rules decide, as in every probe and for every scripted player.

    Its `verifier.rejudge` takes a fourth argument where there are answers, `answers` by the digest
    of their question, and returns `Questions` for what it lacks.
    """

    def start(self) -> Opening:
        """See `Env.start`."""
        ...

    def act(self, action: Action) -> StepResult | Questions:
        """See `Env.act`."""
        ...

    def hear(self, reply: Reply) -> StepResult | Questions:
        """See `Env.hear`."""
        ...

    def verdict(self) -> Verdict | Questions:
        """See `Env.verdict`."""
        ...

    def answered(self, answers: Answers) -> StepResult | Verdict | Questions:
        """Take the answers to all that was asked last; return what the call then asked for.

        Args:
            answers: By the digest of each question, one allowed value for each criterion.
        """
        ...


class EnvFactory(Protocol):
    """The function `make` of a world's `env.py`.

    A world whose tasks have data in common may also define `prepare(task)`, which reads it. Tasks
    name what they share in `payload["shared"]`, a list of keys of the payload; `prepare` gets a
    task with nothing but those, its world and its provenance, once and before the first such
    episode, in the process from which episodes are forked. It must not matter but for time.
    """

    def __call__(self, task: Task, *, settings: Mapping[str, Any], seed: int) -> Env:
        """Return a fresh world for one episode.

        Args:
            task: The task to play.
            settings: Environment knobs resolved for this world (`max_steps`, ...), the recipe's
                `prompt_style` (`compact` or `full`) and, where a judge model is there for a world
                that declares one, `judge: true`.
            seed: Where the world's own chance comes from, such as shuffled options.
        """
        ...
