"""The cells of the grid: which runs there are, what each is called and what its recipe differs in.

A cell is one run of one seed: a world, a method, a user, a condition and who supports it. All
cells of a seed in a world begin with the same policy and may write the same number of tokens. How
a cell is run and what it reached are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

METHODS: Mapping[str, str] = {
    "ppo": "demo",
    "grpo": "grpo",
    "faca": "faca",
    "userrl": "userrl",
    "infopo": "infopo",
}
"""The recipe of each method."""

USERS: Mapping[str, float] = {"noisy": 0.0, "mix25": 0.25, "mix50": 0.5, "mix75": 0.75}
"""Epsilon of the ablation of users; 1.0, the symbolic user alone, is what the methods have."""

CONDITIONS = ("clean", "planted")
SUPPORTS = ("alone", "eau", "naive")
"""Who co-evolves the run: nobody, the operator, or the stripped baseline that only launches."""

MOST_STEPS = 120
FAULT_AT = 20
"""The step of the planted fault: anchors are known from twenty steps before it."""


@dataclass(frozen=True)
class GridWorld:
    """A world of the grid: what is the same in its cells, and the fault that suits it."""

    recipe: str
    """The recipe whose start, at step 0, is the policy that all cells of a seed begin with."""
    settings: tuple[str, ...]
    """What makes a method's recipe, written for travel, one for this world."""
    budget_tokens: int
    """Tokens that the policy may write in a cell: 40 to 60 steps."""
    max_steps: int
    """The turn limit in force before the fault."""
    faulty_max_steps: int
    """The turn limit that is the fault."""
    fault: str
    """What the fault does, in a sentence that the records tell."""
    num_seeds: int
    """Seeds of the whole grid."""
    with_users: bool = False
    """Whether the ablation of users is run here."""


WORLDS: Mapping[str, GridWorld] = {
    "travel": GridWorld(
        recipe="demo",
        settings=(),
        budget_tokens=75_000,
        max_steps=12,
        faulty_max_steps=9,
        fault="the turn limit leaves no turn to ask",
        num_seeds=5,
        with_users=True,
    ),
    "colbench": GridWorld(
        recipe="demo-colbench",
        settings=(
            "worlds={colbench: {tasks: small-*, prompt_style: compact}}",
            "rollout.max_new_tokens=32",
        ),
        # The operator's test takes some 16 steps here, as success differs much from task to task:
        # with 45,000 tokens a run ended with its verdict.
        budget_tokens=60_000,
        max_steps=6,
        faulty_max_steps=3,
        fault="the turn limit leaves no turn to ask for the third number",
        num_seeds=3,
    ),
}
"""The worlds of the grid, in the order in which a seed's cells are run."""

_COMMON = (
    f"total_steps={MOST_STEPS}",
    "rollout.group_size=4",
    "rollout.anchor_share=0.125",
    "checkpoint.every=1000",
    "checkpoint.keep=2",
)
_SUPPORTED: Mapping[str, tuple[str, ...]] = {
    "alone": (),
    "eau": (
        "meta_agent.agent=operator",
        "meta_agent.every=4",
        "meta_agent.own_experience=true",
        "meta_agent.waits=true",
    ),
    # The baseline of the papers: no symbolic user, and not a word while the run is live.
    "naive": ("knobs.user.user_strategy_mix=0.0",),
}


@dataclass(frozen=True)
class Cell:
    """One run of the grid."""

    method: str
    user: str
    condition: str
    support: str
    seed: int
    world: str = "travel"

    @property
    def name(self) -> str:
        """Name of its run."""
        parts = (self.world, self.method, self.user, self.condition, self.support)
        return "-".join(("grid", *parts, f"s{self.seed}"))

    def overrides(self, start: Path) -> list[str]:
        """Return what differs from the method's recipe.

        Args:
            start: The checkpoint that every cell of the seed in this world begins with.
        """
        world = WORLDS[self.world]
        found = [
            *world.settings,
            *_COMMON,
            f"max_action_tokens={world.budget_tokens}",
            f"knobs.environment.max_steps={world.max_steps}",
            f"seed={self.seed}",
            "policy.kind=checkpoint",
            f"policy.path={start}",
        ]
        if self.condition == "planted":
            found += [
                f"plant.short_turns.step={FAULT_AT}",
                f"plant.short_turns.knobs={{environment.max_steps: {world.faulty_max_steps}}}",
                f"plant.short_turns.reason={world.fault}",
            ]
        found += _SUPPORTED[self.support]
        if self.user in USERS:
            found.append(f"knobs.user.user_strategy_mix={USERS[self.user]}")
        return found


def cells(seeds: Sequence[int]) -> Iterator[Cell]:
    """Yield every cell, whole seeds first, so that a grid cut short still has pairs.

    Args:
        seeds: Seeds to run; a world has no cell of a seed beyond its own number of them.
    """
    for seed in seeds:
        for name, world in WORLDS.items():
            if seed < world.num_seeds:
                yield from _of_a_seed(name, seed)


def _of_a_seed(world: str, seed: int) -> Iterator[Cell]:
    for condition in CONDITIONS:
        for method in METHODS:
            for support in SUPPORTS:
                yield Cell(method, "symbolic", condition, support, seed, world)
    for user in USERS if WORLDS[world].with_users else ():
        for support in ("alone", "eau"):
            yield Cell("ppo", user, "clean", support, seed, world)
