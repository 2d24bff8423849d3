"""The telepathy world pays what TelepathyGym pays, answers by a table and hides the title."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from trainer.episode import Episode, StopReason
from trainer.message import read_action
from trainer.rollout.scripted import play
from trainer.worlds import catalog
from trainer.worlds.seam import StepResult
from trainer.worlds.telepathy import env as telepathy
from trainer.worlds.telepathy import loader, verifier
from trainer.worlds.telepathy.content import ATTRIBUTES

OAK: dict[str, Any] = {
    "id": "t",
    "title": "Oak tree",
    "description": "I am thinking of a plant.",
    "goal": "Guess the plant.",
    "target_entity": "Oak tree - a broad tree, bears acorns (in autumn)",
    "category": "plant",
}
LETTERS = "ynynnnnynnnnnnyn"


class Asker:
    """A player that says given words, one after another."""

    def __init__(self, *words: str) -> None:
        self.words = iter(words)

    def move(self, turns: Any) -> str:
        """Return the next words."""
        return next(self.words)


def guesses(*texts: str) -> list[StepResult]:
    """What the world answers to guesses, in one episode."""
    env = telepathy.make(loader.task(OAK | {"attributes": LETTERS}), settings={}, seed=0)
    env.start()
    return [env.act(read_action(f"[answer] {text}")) for text in texts]


def answers(record: dict[str, Any], *questions: str, **settings: Any) -> Episode:
    """An episode in which the symbolic user answers questions."""
    cast = env_suite.cast("telepathy")
    task = loader.task(record)
    return play(
        task,
        Asker(*(f"[action] {question}" for question in questions)),
        env=cast.env(task),
        user=cast.user,
        user_settings={**cast.user_settings, **settings},
        max_steps=len(questions),
        seed=1,
    )


def test_the_right_guess_pays_one_and_ends_and_wrong_ones_cost_nothing() -> None:
    results = guesses("birch", "oak trees")
    assert [result.reward for result in results] == [0.0, 1.0]
    assert [result.stop for result in results] == [None, StopReason.SOLVED]


@pytest.mark.parametrize(
    ("guess", "right"),
    [
        ("the River Nile", True),
        ("It's the Nile river.", True),
        ("Nile", False),
        ("", False),
        ("the", False),
        ("Nile River, Amazon River", False),
    ],
)
def test_a_guess_is_right_by_its_words(guess: str, right: bool) -> None:
    assert verifier.is_right(["Nile River"], guess) is right


def test_fault_the_title_is_in_no_observation() -> None:
    for split in catalog.SPLITS:
        for task in catalog.tasks("telepathy", split):
            env = telepathy.make(task, settings={}, seed=0)
            opening = env.start()
            shown = [opening.system, opening.user, *(fact.statement for fact in task.facts)]
            shown += [env.act(read_action(text)).observation for text in ("[answer] x", "[finish]")]
            for name in task.payload["names"]:
                assert all(name.casefold() not in text.casefold() for text in shown), task.id


def test_fault_a_description_that_holds_the_title_is_refused() -> None:
    with pytest.raises(ValueError, match="gives the title 'Oak tree' away"):
        loader.task(OAK | {"description": "I am thinking of an oak tree."})


def test_every_attribute_is_answered_by_the_table_and_the_rest_by_maybe() -> None:
    for attribute, letter in zip(ATTRIBUTES, LETTERS, strict=True):
        for question in (attribute.question, f"{attribute.question[:-1]}, would you say?"):
            turn = answers(OAK | {"attributes": LETTERS}, question).turns[-1]
            assert turn.text == attribute.answer(loader.VALUES[letter]), question
    episode = answers(OAK | {"attributes": LETTERS}, "Does it bear acorns?", "Is it purple?")
    assert [turn.text for turn in episode.turns[3::2]] == ["Maybe.", "Maybe."]


def test_an_answer_costs_the_same_however_it_falls() -> None:
    episode = answers(OAK | {"attributes": LETTERS}, "Is it alive?", "Is it an animal?")
    assert episode.total_reward == 0.0
    assert [turn.events for turn in episode.turns[3::2]] == [("attribute_told",)] * 2


def test_a_real_definition_answers_yes_to_its_parts_and_maybe_to_the_rest() -> None:
    episode = answers(OAK, "Is it a plant?", "Does it bear acorns?", "Is it an oak?", "Can it fly?")
    assert [turn.text for turn in episode.turns[3::2]] == ["Yes.", "Yes.", "Maybe.", "Maybe."]
    task = loader.task(OAK)
    assert all("oak" not in cue and "tree" not in cue for f in task.facts for cue in f.cues)


@pytest.mark.parametrize("letters", ["yn", "x" * 16, "y" * 17])
def test_a_wrong_table_is_refused(letters: str) -> None:
    with pytest.raises(ValueError, match="write 16 of y, n and m"):
        loader.task(OAK | {"attributes": letters})


def test_no_two_of_our_things_have_the_same_table() -> None:
    tables = [
        tuple(fact.text for fact in task.facts)
        for split in catalog.SPLITS
        for task in catalog.tasks("telepathy", split)
    ]
    assert len(set(tables)) == len(tables) == 32


def test_the_narrowing_player_guesses_some_and_not_all() -> None:
    cast = env_suite.cast("telepathy")
    tasks = catalog.tasks("telepathy", "train")
    episodes = [cast.play(task, "hasty", seed=seed) for seed, task in enumerate(tasks)]
    assert 0.3 < sum(episode.success or 0.0 for episode in episodes) / len(tasks) <= 1.0
    unknown = [cast.play(task, "hasty") for task in catalog.tasks("telepathy", "evaluation")]
    assert not any(episode.success for episode in unknown)


@pytest.mark.parametrize("split", catalog.SPLITS)
def test_the_expert_reaches_everything_on_every_real_task(test_data: Path, split: str) -> None:
    cast = env_suite.cast("telepathy")
    tasks = catalog.tasks("telepathy", split, test_data / "userrl")
    for task in tasks:
        env_suite.is_reachable(cast, task, "full")
        assert task.payload["names"][0].casefold() not in task.opening.casefold()
    env_suite.has_a_floor(cast, tasks[0])


def test_the_real_splits_are_the_published_ones(test_data: Path) -> None:
    pytest.importorskip("pyarrow", reason="the titles of the split are in a parquet file")
    train, held_out = (
        catalog.tasks("telepathy", split, test_data / "userrl") for split in catalog.SPLITS
    )
    assert (len(train), len(held_out)) == (360, 41)


def test_unknown_keys_are_kept(tmp_path: Path) -> None:
    (tmp_path / "all_entities_refined.json").write_text(json.dumps([OAK | {"hue": 1}]))
    tasks = [task for s in catalog.SPLITS for task in catalog.tasks("telepathy", s, tmp_path)]
    assert [task.extra for task in tasks] == [{"hue": 1}]
