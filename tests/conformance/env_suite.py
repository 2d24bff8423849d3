"""What every world promises, as checks that a test runs for each world of the catalog.

A `Cast` is one world with everything that plays in it. A check raises AssertionError with a
sentence; it may be called for any task.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import pytest

from gate.contract import knobs
from trainer.episode import Episode, Speaker, StopReason
from trainer.message import Action, Choice, Reply
from trainer.rollout.scripted import play, world_seed
from trainer.task import Task
from trainer.users import rule_file
from trainer.users.symbolic import SymbolicUser
from trainer.worlds import catalog
from trainer.worlds.catalog import World
from trainer.worlds.declaration import WorldDeclaration, read_declaration
from trainer.worlds.loading import load_world, verifier_of
from trainer.worlds.seam import Env

STYLES = ("compact", "full")
SLACK = 1e-9

HOSTILE_ACTIONS = (
    Action(Choice.MALFORMED, "empty message"),
    Action(Choice.TOOL, "{}", "rm_rf", {"path": "/"}),
    Action(Choice.SEARCH, "\x00" * 50),
    Action(Choice.SEARCH, "[" * 5000),
    Action(Choice.ANSWER, "\u202e F9999 or 1=1"),
    Action(Choice.ANSWER, "9" * 5000),
    Action(Choice.ACTION, "\ud800 lone surrogate"),
)


@dataclass(frozen=True)
class Cast:
    """One world, its code loaded from its folder, and who plays in it."""

    name: str
    world: World
    module: ModuleType
    declaration: WorldDeclaration
    user: SymbolicUser
    user_settings: Mapping[str, Any]

    def settings(self, style: str) -> dict[str, Any]:
        """Return what the world is made with."""
        limit = self.declaration.turn_limit
        return {**self.declaration.settings, "max_steps": limit, "prompt_style": style}

    def env(self, task: Task, *, style: str = "full", seed: int = 1) -> Env:
        """Return a fresh world."""
        return self.module.make(task, settings=self.settings(style), seed=world_seed(seed))

    def play(
        self, task: Task, player: str, *, style: str = "full", seed: int = 1, **user_settings: Any
    ) -> Episode:
        """Return an episode of one of the world's scripted players."""
        settings = self.settings(style)
        return play(
            task,
            self.world.players[player](task, settings=settings, seed=seed),
            env=self.env(task, style=style, seed=seed),
            user=self.user,
            user_settings={**self.user_settings, **user_settings},
            max_steps=self.declaration.turn_limit,
            seed=seed,
        )


def cast(name: str) -> Cast:
    """Return a world of the catalog with its own user and the default knobs."""
    world = catalog.world(name)
    return Cast(
        name=name,
        world=world,
        module=load_world(world.folder),
        declaration=read_declaration(world.folder),
        user=SymbolicUser({name: rule_file.load(world.folder / "user.yaml")}),
        user_settings=knobs.defaults().file("user", name),
    )


def starts_first_and_once(cast: Cast, task: Task) -> None:
    """A world opens before it acts, and only once."""
    env = cast.env(task)
    with pytest.raises(RuntimeError):
        env.act(Action(Choice.ACTION, "Hello."))
    opening = env.start()
    assert opening.user.strip(), "the user opens the conversation with words"
    with pytest.raises(RuntimeError):
        env.start()


def is_deterministic(cast: Cast, task: Task, style: str) -> None:
    """The same seed gives the same episode, in one process as in two."""
    first, second = (cast.play(task, "hasty", style=style, seed=5) for _ in range(2))
    assert first == second


def survives_hostile_actions(cast: Cast, task: Task) -> None:
    """What cannot be carried out is answered and named, pays nothing and ends nothing."""
    env = cast.env(task)
    env.start()
    for action in HOSTILE_ACTIONS:
        result = env.act(action)
        assert result.reward == 0.0
        assert set(result.events) <= cast.declaration.events.keys()
        if action.choice in (Choice.MALFORMED, Choice.TOOL):
            assert result.events == ("malformed",)
            assert result.observation, "a malformed action is told what is wrong"
            assert result.stop is None
    assert math.isfinite(env.verdict().reward)


def judges_an_untouched_state(cast: Cast, task: Task) -> None:
    """A world that was cut before anything happened has the floor as its verdict."""
    env = cast.env(task)
    env.start()
    verdict = env.verdict()
    assert verdict.success == 0.0
    assert verdict.reward == 0.0
    assert verdict.metrics.keys() == cast.declaration.metrics.keys()


def keeps_its_declaration(cast: Cast, episode: Episode) -> None:
    """Events and metrics are declared; every number is finite; success is the named metric."""
    for turn in episode.turns:
        assert set(turn.events) <= cast.declaration.events.keys()
    assert episode.metrics.keys() == cast.declaration.metrics.keys()
    assert all(math.isfinite(value) for value in episode.metrics.values())
    assert episode.success is not None and 0.0 <= episode.success <= 1.0
    assert abs(episode.metrics[cast.declaration.metric] - episode.success) <= SLACK
    assert -SLACK <= episode.total_reward <= 1.0 + SLACK


def hides_what_was_not_told(cast: Cast, task: Task, episode: Episode) -> None:
    """The agent reads a fact's secret wording never, and its statement only once it is told."""
    told: set[str] = set()
    for turn in episode.turns:
        if turn.speaker is Speaker.AGENT:
            continue
        told |= set(turn.revealed)
        for fact in task.facts:
            if turn.speaker is Speaker.TOOL or len(fact.text.split()) > 2:
                assert fact.text not in turn.text
            assert fact.id in told or fact.statement not in turn.text


def refuses_facts_of_other_tasks(cast: Cast, task: Task) -> None:
    """A reply that names a fact which the task does not have is a fault, not a reward."""
    env = cast.env(task)
    env.start()
    with pytest.raises(ValueError, match="X99"):
        env.hear(Reply("something", revealed=("X99",)))


def pays_each_fact_once(cast: Cast, task: Task) -> None:
    """Telling the same fact again earns no event and no reward; a task may have no facts."""
    if not task.facts:
        return
    env = cast.env(task)
    env.start()
    reply = Reply("something", revealed=(task.facts[0].id,))
    first, again = env.hear(reply), env.hear(reply)
    assert "off_topic" not in first.events
    assert again.events == ("off_topic",)
    assert again.reward == 0.0


def agrees_with_its_records(cast: Cast, task: Task, episode: Episode) -> None:
    """The verifier finds the reported verdict again in the recorded turns alone."""
    verifier = verifier_of(cast.module)
    bare = tuple(replace(turn, events=()) for turn in episode.turns)
    verdict = verifier.rejudge(task, bare, cast.declaration.settings)
    assert verdict.success == episode.success
    assert dict(verdict.metrics) == dict(episode.metrics)


def is_reachable(cast: Cast, task: Task, style: str) -> None:
    """The expert earns everything there is within the world's turn limit."""
    episode = cast.play(task, "oracle", style=style)
    assert episode.success == 1.0, f"{task.id}: the oracle ended at {episode.metrics}"
    assert episode.stop is StopReason.SOLVED
    assert abs(episode.total_reward - 1.0) <= SLACK


def has_a_floor(cast: Cast, task: Task) -> None:
    """Whoever does nothing useful earns nothing and is stopped by the limit."""
    episode = cast.play(task, "idle")
    assert episode.stop is StopReason.OUT_OF_STEPS
    assert episode.success == 0.0
    assert episode.total_reward == 0.0
