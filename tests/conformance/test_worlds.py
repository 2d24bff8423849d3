"""Every world of the catalog keeps what `env_suite` says a world promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance import env_suite
from tests.conformance.env_suite import STYLES, Cast
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.gold import Gold, read_gold
from trainer.worlds.loading import verifier_of

PLAYERS = [(name, player) for name, world in catalog.WORLDS.items() for player in world.players]
GOLD = [
    (name, entry) for name, world in catalog.WORLDS.items() for entry in read_gold(world.folder)
]

_REPLAY = """
import json, sys
from tests.conformance import env_suite
from trainer.worlds import catalog
name, index = sys.argv[1], int(sys.argv[2])
task = catalog.tasks(name, "train")[index]
episode = env_suite.cast(name).play(task, "hasty", seed=5)
print(json.dumps([[turn.text for turn in episode.turns], episode.total_reward]))
"""


@pytest.fixture(scope="module", params=list(catalog.WORLDS))
def cast(request: pytest.FixtureRequest) -> Cast:
    return env_suite.cast(request.param)


def sample(name: str, number: int) -> tuple[Task, ...]:
    """Some training tasks, evenly spaced."""
    tasks = catalog.tasks(name, "train")
    return tasks[:: max(len(tasks) // number, 1)]


def test_a_world_starts_first_and_once(cast: Cast) -> None:
    env_suite.starts_first_and_once(cast, sample(cast.name, 1)[0])


@pytest.mark.parametrize("style", STYLES)
def test_the_same_seed_gives_the_same_episode(cast: Cast, style: str) -> None:
    for task in sample(cast.name, 6):
        env_suite.is_deterministic(cast, task, style)


def test_hostile_actions_are_answered(cast: Cast) -> None:
    for task in sample(cast.name, 3):
        env_suite.survives_hostile_actions(cast, task)


def test_an_untouched_state_is_judged_at_the_floor(cast: Cast) -> None:
    for task in sample(cast.name, 6):
        env_suite.judges_an_untouched_state(cast, task)


def test_facts_of_other_tasks_are_refused(cast: Cast) -> None:
    env_suite.refuses_facts_of_other_tasks(cast, sample(cast.name, 1)[0])


def test_a_fact_pays_once(cast: Cast) -> None:
    for task in sample(cast.name, 6):
        env_suite.pays_each_fact_once(cast, task)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("split", catalog.SPLITS)
def test_the_expert_reaches_everything_on_every_task(cast: Cast, split: str, style: str) -> None:
    for task in catalog.tasks(cast.name, split):
        env_suite.is_reachable(cast, task, style)


def test_doing_nothing_earns_nothing(cast: Cast) -> None:
    for task in sample(cast.name, 10):
        env_suite.has_a_floor(cast, task)


@pytest.mark.parametrize(("name", "player"), PLAYERS)
def test_every_player_leaves_an_episode_in_order(name: str, player: str) -> None:
    cast = env_suite.cast(name)
    for style in STYLES:
        for seed, task in enumerate(sample(name, 12)):
            episode = cast.play(task, player, style=style, seed=seed, volunteer_after=2)
            env_suite.keeps_its_declaration(cast, episode)
            env_suite.hides_what_was_not_told(cast, task, episode)
            env_suite.agrees_with_its_records(cast, task, episode)


@pytest.mark.parametrize("facts_per_reply", [1, 2, 3])
def test_talkative_users_leave_the_expert_successful(cast: Cast, facts_per_reply: int) -> None:
    for task in sample(cast.name, 8):
        episode = cast.play(task, "oracle", facts_per_reply=facts_per_reply)
        env_suite.agrees_with_its_records(cast, task, episode)
        assert episode.success == 1.0


def test_two_episodes_in_one_process_equal_two_in_two(cast: Cast, checkout: Path) -> None:
    indices = [0, len(catalog.tasks(cast.name, "train")) - 1]
    together = []
    for index in indices:
        episode = cast.play(catalog.tasks(cast.name, "train")[index], "hasty", seed=5)
        together.append([[turn.text for turn in episode.turns], episode.total_reward])
    apart = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", _REPLAY, cast.name, str(index)],
                cwd=checkout,
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            ).stdout
        )
        for index in indices
    ]
    assert together == apart


@pytest.mark.parametrize(("name", "gold"), GOLD, ids=[f"{name}-{gold.name}" for name, gold in GOLD])
def test_the_verifier_agrees_with_a_gold_verdict(name: str, gold: Gold) -> None:
    verdict = verifier_of(env_suite.cast(name).module).rejudge(gold.task, gold.turns)
    assert verdict.success == pytest.approx(gold.success, abs=1e-9), gold.why
    for metric, value in gold.metrics.items():
        assert verdict.metrics[metric] == pytest.approx(value, abs=1e-9), gold.why
