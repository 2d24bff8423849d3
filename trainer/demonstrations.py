"""Demonstrations: dialogues of scripted players, from which a small model gets its start.

The players stand for a pretraining that a small model never had: they show the language of a
world, and mediocre ones among them leave something to learn by reward. Played in this process,
by rule and seed, so that the same recipe always starts from the same dialogues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gate.contract.knobs import Knobs
from trainer import seeds
from trainer.episode import Episode, Outcome, Speaker
from trainer.policy.warmstart import Demonstration
from trainer.recipe import RunConfig, WarmStart
from trainer.rollout.scripted import play, world_seed
from trainer.task import Task
from trainer.users.seam import UserEngine
from trainer.worlds import catalog
from trainer.worlds.loading import load_world


class Demonstrations(NamedTuple):
    """What the scripted players did."""

    dialogues: list[Demonstration]
    success_by_player: Mapping[str, float]


def demonstrate(
    config: RunConfig,
    warm: WarmStart,
    tasks: Mapping[str, Sequence[Task]],
    user: UserEngine,
    knobs: Knobs,
) -> Demonstrations:
    """Let the recipe's players play training tasks.

    Args:
        config: The recipe.
        warm: How many episodes, and which players in which shares.
        tasks: Training tasks by world.
        user: Whoever answers; the symbolic user.
        knobs: The starting knobs.

    Raises:
        ValueError: if a world has no player of a name that the recipe gives.
    """
    dialogues: list[Demonstration] = []
    verdicts: dict[str, list[float]] = {}
    worlds = sorted(world for world, setting in config.worlds.items() if setting.weight > 0)
    for index in range(warm.episodes):
        world = worlds[index % len(worlds)]
        seed = seeds.derive(config.seed, "demonstration", index)
        task = tasks[world][seeds.derive(seed, "task") % len(tasks[world])]
        name = _draw_player(warm.players, seeds.uniform(seed, "player"))
        episode = _play_one(config, task, name, user, knobs, seed)
        if episode.stop.outcome is Outcome.FINISHED:
            verdicts.setdefault(name, []).append(episode.success or 0.0)
            dialogues.append(as_dialogue(episode))
    shares = {name: round(sum(all_) / len(all_), 4) for name, all_ in sorted(verdicts.items())}
    return Demonstrations(dialogues, shares)


def as_dialogue(episode: Episode) -> Demonstration:
    """Return what the agent read and wrote in an episode; what is private stays out."""
    system, *rest = episode.turns
    while rest and rest[-1].speaker is not Speaker.AGENT:
        rest.pop()
    return Demonstration(system.text, [(turn.speaker, turn.text) for turn in rest])


def pieces(demonstration: Demonstration, *, agent_turns: int = 2) -> list[Demonstration]:
    """Return the short stretches of a dialogue that begin with a user's words.

    Args:
        demonstration: A whole dialogue.
        agent_turns: How many turns of the agent a piece holds; fewer at the end.
    """
    turns = list(demonstration.turns)
    found: list[Demonstration] = []
    for start, (speaker, _) in enumerate(turns):
        if speaker is not Speaker.USER:
            continue
        spoken, stop = 0, start
        while stop < len(turns) and spoken < agent_turns:
            spoken += turns[stop][0] is Speaker.AGENT
            stop += 1
        if spoken:
            found.append(Demonstration(demonstration.system, turns[start:stop]))
    return found


def _play_one(
    config: RunConfig, task: Task, name: str, user: UserEngine, knobs: Knobs, seed: int
) -> Episode:
    world = catalog.world(task.world)
    if name not in world.players:
        raise ValueError(
            f"policy.warm_start.players: {task.world} has no player {name!r}; it has "
            f"{', '.join(sorted(world.players))}"
        )
    max_steps = int(knobs.get("environment.max_steps", task.world))
    settings = {
        "max_steps": max_steps,
        "prompt_style": config.worlds[task.world].prompt_style,
    }
    env = load_world(world.folder).make(task, settings=settings, seed=world_seed(seed))
    player = world.players[name](task, settings=settings, seed=seed)
    return play(
        task,
        player,
        env=env,
        user=user,
        user_settings=knobs.file("user", task.world),
        max_steps=max_steps,
        seed=seed,
    )


def _draw_player(players: Mapping[str, float], draw: float) -> str:
    total, reached = sum(players.values()), 0.0
    for name in sorted(players):
        reached += players[name] / total
        if draw < reached:
            return name
    return max(players)
