"""The turtle world pays what TurtleGym pays, a perfect story reaches 1, and no reply quotes it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from trainer.episode import Speaker, StopReason
from trainer.message import read_action
from trainer.task import Task
from trainer.users import cues
from trainer.worlds import catalog
from trainer.worlds.seam import StepResult
from trainer.worlds.turtle import env as turtle
from trainer.worlds.turtle import loader, verifier

KEEPERS = ("lantern", "harbour", "brother", "whistle", "garden")


def story(*weights: float, **changes: Any) -> dict[str, Any]:
    """A story in TurtleGym's schema, without the fields of ours."""
    return {
        "judgment": "Yes",
        "new_title": "The Keepers",
        "new_surface": "A man did something strange and everybody was glad of it.",
        "new_bottom": "He kept many things.",
        "evaluation": [
            {"statement": f"He kept a {name} for years.", "score": weight}
            for name, weight in zip(KEEPERS, weights, strict=False)
        ],
        **changes,
    }


def own(*weights: float) -> Task:
    """A task of ours: each criterion is told by two words."""
    entries = story(*weights)["evaluation"]
    for entry, name in zip(entries, KEEPERS, strict=False):
        entry["keywords"] = [[name], [f"old {name}"]]
    return loader.task(story(evaluation=entries, clues=[{"question": "Was it?", "answer": "Yes."}]))


def answers(task: Task, *texts: str, **settings: Any) -> list[StepResult]:
    """What the world answers to stories, in one episode."""
    env = turtle.make(task, settings=settings, seed=0)
    env.start()
    told = [env.act(read_action(f"[answer] {text}")) for text in texts]
    return [one for one in told if isinstance(one, StepResult)]


def test_the_published_scores() -> None:
    weights = [30, 30, 40]
    assert verifier.score(weights, [2, 1, 0]) == pytest.approx(0.45, abs=1e-12)
    second = verifier.score(weights, [2, 2, 1])
    assert verifier.pay(second, 0.45) == pytest.approx(0.35, abs=1e-12)
    assert verifier.pay(0.2, 0.45) == 0.0


def test_an_answer_pays_what_it_is_better_than_the_best() -> None:
    task = own(0.3, 0.3, 0.4)
    first, worse, second = answers(
        task, "old lantern, harbour", "lantern", "old lantern, old harbour, brother"
    )
    assert [first.reward, worse.reward] == pytest.approx([0.45, 0.0])
    assert second.reward == pytest.approx(0.35)
    assert [r.events[0] for r in (first, worse)] == ["story_better", "story_no_better"]


@pytest.mark.parametrize("weights", [(0.1, 0.1, 0.1, 0.35, 0.35), (0.7, 0.2, 0.1), (0.3, 0.6, 0.1)])
def test_fault_13_weights_that_sum_below_one_still_reach_the_threshold(
    weights: tuple[float, ...],
) -> None:
    (result,) = answers(own(*weights), " ".join(f"old {name}" for name in KEEPERS))
    assert result.stop is StopReason.SOLVED
    assert result.reward == 1.0


def test_fault_13_is_real_somewhere() -> None:
    assert sum((0.7, 0.2, 0.1)) < 1.0


def test_a_lower_threshold_is_reached_earlier() -> None:
    (result,) = answers(own(0.5, 0.4, 0.1), "old lantern old harbour", success_threshold=0.9)
    assert result.stop is StopReason.SOLVED
    assert result.reward == pytest.approx(0.9)


def test_fault_15_no_reply_quotes_a_criterion() -> None:
    cast = env_suite.cast("turtle")
    for split in catalog.SPLITS:
        for task in catalog.tasks("turtle", split):
            for player in ("hasty", "oracle"):
                for turn in cast.play(task, player).turns[2:]:
                    if turn.speaker is Speaker.AGENT:
                        continue
                    for criterion in task.payload["criteria"]:
                        assert criterion["statement"][:40] not in turn.text
            for fact in task.facts:
                assert all(c["statement"] not in fact.statement for c in task.payload["criteria"])


def test_fault_14_residue_of_scraping_is_left_out_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    surfaces = ["Author: somebody on the net wrote this one", "It's too dark.", "Adapted by: Judge"]
    stories = {
        str(number): story(1.0, new_title=f"Title {number}", new_surface=surface)
        for number, surface in enumerate([*surfaces, story()["new_surface"]])
    }
    stories["9"] = story(1.0, new_title="Refused", judgment="No")
    (tmp_path / "all_stories_refined.json").write_text(json.dumps(stories))
    with caplog.at_level(logging.WARNING):
        tasks = [task for s in catalog.SPLITS for task in catalog.tasks("turtle", s, tmp_path)]
    assert [task.id for task in tasks] == ["Title 3"]
    assert all(f"Title {number}" in caplog.text for number in range(3))


def test_a_story_of_the_real_schema_is_scored_by_the_words_of_its_criteria() -> None:
    task = loader.task(story(0.7, 0.3))
    results = answers(task, "he kept bees", "a lantern he kept", "kept lantern, harbour for years")
    assert [result.reward for result in results[:2]] == pytest.approx([0.5, 0.35])
    assert results[2].stop is StopReason.SOLVED
    assert sum(result.reward for result in results) == pytest.approx(1.0)


def test_the_expert_solves_stories_of_the_real_schema(tmp_path: Path) -> None:
    stories = {
        str(n): story(*w, new_title=f"T{n}") for n, w in enumerate([(0.7, 0.2, 0.1), (1,)] * 9)
    }
    (tmp_path / "all_stories_refined.json").write_text(json.dumps(stories))
    cast = env_suite.cast("turtle")
    tasks = [task for s in catalog.SPLITS for task in catalog.tasks("turtle", s, tmp_path)]
    assert len(tasks) == 18
    for task in tasks:
        env_suite.is_reachable(cast, task, "full")
        env_suite.has_a_floor(cast, task)


def test_the_expert_reaches_everything_on_every_real_task(test_data: Path) -> None:
    if not (test_data / "userrl" / loader.GYM.folder).is_dir():
        pytest.skip(f"no {loader.GYM.file} in {test_data}: its licence is unclear")
    cast = env_suite.cast("turtle")
    for split in catalog.SPLITS:
        for task in catalog.tasks("turtle", split, test_data / "userrl"):
            env_suite.is_reachable(cast, task, "full")


@pytest.mark.parametrize(
    ("question", "answer"),
    [("Did he want to bake bread?", "No, bread was not the point."), ("Was it red?", "Maybe")],
)
def test_questions_are_answered_by_the_clues(question: str, answer: str) -> None:
    cast = env_suite.cast("turtle")
    task = catalog.tasks("turtle", "train")[0]

    class Asker:
        def move(self, turns: Any) -> str:
            """Return the question."""
            return f"[action] {question}"

    player = {"ask": lambda task, *, settings, seed: Asker()}
    asking = env_suite.Cast(
        **{**vars(cast), "world": catalog.World(cast.world.folder, cast.world.load, player)}
    )
    assert asking.play(task, "ask").turns[3].text.startswith(answer)


def test_every_clue_is_found_by_its_question() -> None:
    for split in catalog.SPLITS:
        for task in catalog.tasks("turtle", split):
            assert len(task.facts) == 4
            table = cues.build_table(task)
            for index, fact in enumerate(task.facts):
                best = table.match(cues.words_of(fact.cues[0]))[0]
                assert best.index == index, (task.id, fact.cues)


def test_the_numbers_of_stories() -> None:
    assert len(catalog.tasks("turtle", "train")) == 16
    assert len(catalog.tasks("turtle", "evaluation")) == 8


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (story(), "`evaluation` is empty"),
        (story(0.001), "has no weight or no word"),
        (story(1.0, evaluation=[{"statement": "of the", "score": 1}]), "has no weight or no word"),
    ],
)
def test_a_story_that_cannot_be_scored_is_refused(record: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loader.task(record)
