"""The travel world's scripted players are as good as they say, and small dialogues stay short."""

from __future__ import annotations

import pytest

from tests.conformance import env_suite
from tests.conformance.env_suite import Cast
from trainer.episode import Episode
from trainer.policy.tokenizer import train_tokenizer
from trainer.task import Task
from trainer.worlds import catalog

FRAME_TOKENS = 5
"""What a chat template adds to a message: its opening, its role and its end."""


@pytest.fixture(scope="module")
def cast() -> Cast:
    return env_suite.cast("travel")


@pytest.fixture(scope="module")
def small() -> list[Task]:
    tasks = catalog.tasks("travel", "train")
    return [task for task in tasks if task.payload["tier"] == "small"]


def played(cast: Cast, tasks: list[Task], player: str) -> list[Episode]:
    return [cast.play(task, player, style="compact", seed=seed) for seed, task in enumerate(tasks)]


def success(episodes: list[Episode]) -> float:
    return sum(episode.success or 0.0 for episode in episodes) / len(episodes)


def test_the_hasty_player_succeeds_in_about_a_third(cast: Cast, small: list[Task]) -> None:
    assert 0.25 < success(played(cast, small, "hasty")) < 0.45


def test_the_lazy_player_hardly_ever_succeeds(cast: Cast, small: list[Task]) -> None:
    assert success(played(cast, small, "lazy")) < 0.1


def test_players_read_the_conversation_and_not_the_task(cast: Cast, small: list[Task]) -> None:
    task = small[0]
    settings = cast.settings("compact")
    blind = Task(id="", world="travel", goal="", opening="")
    turns = cast.play(task, "oracle", style="compact").turns
    for name, make in cast.world.players.items():
        seeing = make(task, settings=settings, seed=1)
        unseeing = make(blind, settings=settings, seed=1)
        for length in range(2, len(turns)):
            assert seeing.move(turns[:length]) == unseeing.move(turns[:length]), name


@pytest.mark.parametrize("vocab_size", [512, 1024])
def test_a_dialogue_of_the_small_tier_fits_a_small_model(
    cast: Cast, small: list[Task], vocab_size: int
) -> None:
    episodes = played(cast, small, "oracle")
    texts = [turn.text for episode in episodes for turn in episode.turns]
    tokenizer = train_tokenizer(texts, vocab_size=vocab_size)
    lengths = [
        sum(len(tokenizer.encode(turn.text)) + FRAME_TOKENS for turn in episode.turns)
        for episode in episodes[:60]
    ]
    assert max(lengths) <= 350
