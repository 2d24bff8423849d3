"""The rules of telepathy, turtle and persuasion: every rule has its occasion, none leaks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trainer.users.dialogue import SETTINGS, answer
from trainer.task import Fact, Task
from trainer.users.rule_file import FILE_NAME, load
from trainer.users.seam import UserReply, UserRequest, UserState
from trainer.users.symbolic import NO_RULE, SymbolicUser
from trainer.worlds.persuasion import loader as persuasion
from trainer.worlds.telepathy import loader as telepathy
from trainer.worlds.turtle import loader as turtle

LOADERS = {"telepathy": telepathy, "turtle": turtle, "persuasion": persuasion}
RULES = {name: load(loader.FOLDER / FILE_NAME) for name, loader in LOADERS.items()}
USER = SymbolicUser(RULES)

QUESTION: dict[str, dict[str, Any]] = {
    "reveal": {"message": "{question}"},
    "told": {"message": "{question}", "told": 2},
    "forgotten": {"message": "{question}", "reveal_kinds": ["none"]},
    "unknown": {"message": "Is it purple on Thursdays?"},
    "small_talk": {"message": "Hello."},
    "nudge": {"message": "Let us see."},
}
OCCASIONS = {
    "telepathy": QUESTION,
    "turtle": QUESTION,
    "persuasion": {
        "offended": {"message": "Do not be an idiot. {question}"},
        "grant": {"message": "{question}"},
        "heard": {"message": "{question}", "told": 2},
        "small_talk": {"message": "Hello."},
        "question": {"message": "Why on earth do you believe it?"},
        "unmoved": {"message": "Bananas are yellow."},
    },
}
"""By world and rule: a message and the circumstances in which the rule answers."""


def question(task: Task, fact: Fact) -> str:
    """What asks for a fact, or takes up a point."""
    return fact.text if task.world == "persuasion" else fact.cues[0]


def ask(task: Task, message: str, told: int = 0, **settings: Any) -> UserReply:
    state = UserState(reveal_counts={task.facts[0].id: told} if told else {})
    return answer(USER, UserRequest(task, (), message, state, SETTINGS | settings, seed=3))


@pytest.mark.parametrize(
    ("world", "rule"), [(world, rule) for world in OCCASIONS for rule in OCCASIONS[world]]
)
def test_every_rule_has_its_occasion(world: str, rule: str) -> None:
    task = LOADERS[world].load("train")[0]
    occasion = dict(OCCASIONS[world][rule])
    message = occasion.pop("message").format(question=question(task, task.facts[0]))
    assert ask(task, message, **occasion).rule == rule


def test_no_rule_is_without_an_occasion() -> None:
    for world, rules in RULES.items():
        assert [rule.id for rule in rules.rules] == list(OCCASIONS[world])


@pytest.mark.parametrize("world", LOADERS)
@pytest.mark.parametrize("split", ["train", "evaluation"])
def test_every_question_is_answered_by_its_own_fact(world: str, split: str) -> None:
    for task in LOADERS[world].load(split):
        for fact in task.facts:
            assert ask(task, question(task, fact)).revealed == (fact.id,), (task.id, fact)


@pytest.mark.parametrize("world", LOADERS)
def test_general_words_reveal_nothing_and_still_get_an_answer(world: str) -> None:
    for task in LOADERS[world].load("train"):
        for message in (
            "Could you tell me more?",
            "What else?",
            "I see it quite differently.",
            "[answer] 42",
        ):
            reply = ask(task, message)
            assert reply.revealed == () and reply.rule != NO_RULE, (task.id, message, reply)


@pytest.mark.parametrize("world", LOADERS)
def test_a_reply_tells_one_fact_and_no_long_stretch_of_the_secret(world: str) -> None:
    for task in LOADERS[world].load("train"):
        secret = task.goal.casefold()
        everything = " ".join(question(task, fact) for fact in task.facts)
        reply = ask(task, everything)
        assert len(reply.revealed) <= 1
        said = reply.text.casefold()
        assert not any(said[at : at + 40] in secret for at in range(len(said) - 39))
