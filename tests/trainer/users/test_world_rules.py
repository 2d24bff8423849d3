"""The rules of the built-in worlds: every question is answered, every rule has its occasion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.users.dialogue import SETTINGS, answer
from trainer.task import Fact, Task
from trainer.users.personas import read_personas
from trainer.users.rule_file import FILE_NAME, load
from trainer.users.seam import UserRequest, UserState
from trainer.users.symbolic import SymbolicUser
from trainer.worlds.intention import loader as intention
from trainer.worlds.travel import loader as travel

ROOT = Path(__file__).resolve().parents[3]
WORLDS = {"travel": travel, "intention": intention}
FOLDERS = {name: loader.FOLDER for name, loader in WORLDS.items()}
USER = SymbolicUser({name: load(folder / FILE_NAME) for name, folder in FOLDERS.items()})

OCCASIONS: dict[str, dict[str, Any]] = {
    "volunteer": {"message": "Hello.", "volunteer_after": 1},
    "reveal": {"message": "{question}"},
    "told": {"message": "{question}", "told": 2},
    "pointless": {"message": "{question}", "withdrawn": True},
    "forgotten": {"message": "{question}", "reveal_kinds": ["none"]},
    "not_understood": {"message": "What do you prefer?"},
    "too_early": {"message": "I recommend F8.", "min_questions": 1},
    "leave_choice": {"message": "I recommend F8."},
    "go_on": {"message": "I recommend F8."},
    "small_talk": {"message": "Hello."},
    "nudge": {"message": "Let us see."},
}
"""By rule: a message and the circumstances in which the rule answers."""


def ask(task: Task, message: str, state: UserState | None = None, **settings: Any):
    asked = UserRequest(task, (), message, state or UserState(), SETTINGS | settings, seed=11)
    return answer(USER, asked)


def questions(task: Task, fact: Fact) -> list[str]:
    """The ways in which an expert asks for a fact."""
    if task.world == "intention":
        details = task.payload["missing_details"]
        return [next(detail["inquiry"] for detail in details if detail["id"] == fact.id)]
    aspect, topic = fact.kind.replace("_", " ").split(".")
    return [f"{aspect} {topic}?", f"Which {topic} do you want for the {aspect}?"]


@pytest.mark.parametrize("split", ["train", "evaluation"])
@pytest.mark.parametrize("world", WORLDS)
def test_an_experts_question_reveals_its_fact_in_every_task(world: str, split: str) -> None:
    for task in WORLDS[world].load(split):
        for fact in task.facts:
            for question in questions(task, fact):
                reply = ask(task, question)
                assert reply.revealed == (fact.id,), (task.id, question, reply)


@pytest.mark.parametrize("world", WORLDS)
def test_a_question_too_general_reveals_nothing_in_any_task(world: str) -> None:
    general = ("Could you tell me more?", "What are your preferences?", "Any other details?")
    for task in WORLDS[world].load("train"):
        for question in general:
            assert ask(task, question).revealed == (), (task.id, question)


def test_a_travel_question_about_a_topic_without_a_wish_reveals_nothing() -> None:
    for task in travel.load("train"):
        kinds = {fact.kind for fact in task.facts}
        for aspect in task.payload["dimensions"]:
            for topic in travel.TOPICS[aspect]:
                if f"{aspect}.{topic}" not in kinds:
                    question = f"{aspect.replace('_', ' ')} {topic}?"
                    assert ask(task, question).revealed == (), (task.id, question)


@pytest.mark.parametrize("world", WORLDS)
def test_every_rule_has_an_occasion_on_which_it_answers(world: str) -> None:
    task = WORLDS[world].load("train")[0]
    fact = task.facts[0]
    for rule in USER.rules[world].rules:
        occasion = dict(OCCASIONS[rule.id])
        message = occasion.pop("message").format(question=questions(task, fact)[0])
        state = UserState(
            reveal_counts={fact.id: occasion.pop("told", 0)},
            withdrawn=frozenset({fact.id} if occasion.pop("withdrawn", False) else ()),
        )
        assert ask(task, message, state, **occasion).rule == rule.id


@pytest.mark.parametrize("world", WORLDS)
def test_every_reply_without_facts_fits_the_shortest_limit(world: str) -> None:
    for rule in USER.rules[world].rules:
        shortest = min(len(variant.fill({})) for variant in rule.say)
        assert shortest <= 40, rule.id


@pytest.mark.parametrize("world", WORLDS)
def test_no_built_in_rule_ends_the_conversation_before_the_world_does(world: str) -> None:
    assert not any(rule.deed == "close" for rule in USER.rules[world].rules)


@pytest.mark.parametrize("world", WORLDS)
def test_the_personas_of_a_world_can_be_read(world: str) -> None:
    assert "plain" in read_personas(FOLDERS[world] / "personas")


@pytest.mark.parametrize("split", ["train", "evaluation"])
def test_real_intentions_are_answered_question_by_question(test_data: Path, split: str) -> None:
    tasks = intention.load(split, test_data / "userrl")
    for task in tasks:
        for fact in task.facts:
            for question in questions(task, fact):
                assert ask(task, question).revealed == (fact.id,), (task.id, question)


def test_replies_are_the_same_in_every_process() -> None:
    program = (
        "import hashlib\n"
        "from tests.trainer.users.test_world_rules import WORLDS, ask, questions\n"
        "texts = [ask(task, question).__repr__() for loader in WORLDS.values()\n"
        "         for task in loader.load('train')[:20] for fact in task.facts\n"
        "         for question in (*questions(task, fact), 'price room trip time seat food?')]\n"
        "print(hashlib.sha256(' '.join(texts).encode()).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2", "3")
    }
    assert len(digests) == 1
