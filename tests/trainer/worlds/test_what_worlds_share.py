"""What all worlds do alike is done once: the order of calls, styles, refusals and unknown facts."""

from __future__ import annotations

import pytest

from trainer.message import Action, Choice
from trainer.task import Fact, Task
from trainer.worlds import refusals
from trainer.worlds.disclosure import refuse_unknown
from trainer.worlds.prompt_style import COMPACT, FULL, prompt_style
from trainer.worlds.seam import Opening, StepResult
from trainer.worlds.single_use import single_use

HELLO = Action(Choice.ACTION, "hello")
TASK = Task("t", "toy", "-", "Hi.", facts=(Fact("A", "a", "a", "It is a.", ("a",)),))


@single_use
class Echo:
    """A world that says what it hears."""

    def start(self) -> Opening:
        """Begin."""
        return Opening("rules", "hi")

    def act(self, action: Action) -> StepResult:
        """Say the words again."""
        return StepResult(say=action.content)


@single_use
class Wrapped:
    """A world around another one; each keeps its own order."""

    def __init__(self) -> None:
        self.inner = Echo()

    def start(self) -> Opening:
        """Begin."""
        return self.inner.start()

    def act(self, action: Action) -> StepResult:
        """Pass it on."""
        return self.inner.act(action)


@pytest.mark.parametrize("kind", [Echo, Wrapped])
def test_a_world_starts_once_and_before_its_first_move(kind: type[Echo | Wrapped]) -> None:
    world, other = kind(), kind()
    with pytest.raises(RuntimeError, match=r"^start\(\) comes first$"):
        world.act(HELLO)
    assert world.start() == Opening("rules", "hi")
    assert world.act(HELLO) == world.act(HELLO) == StepResult(say="hello")
    with pytest.raises(RuntimeError, match="started already; make a new one for each episode"):
        world.start()
    with pytest.raises(RuntimeError, match="comes first"):
        other.act(HELLO)


def test_a_class_that_starts_once_keeps_its_name_and_words() -> None:
    assert (Echo.__name__, Echo.act.__doc__) == ("Echo", "Say the words again.")


def test_a_style_is_full_unless_another_is_asked_for() -> None:
    assert prompt_style({}) == prompt_style({"prompt_style": "full"}) == FULL
    assert prompt_style({"prompt_style": "compact"}) == COMPACT
    with pytest.raises(ValueError, match=r"^prompt_style is 'long'; choose compact or full$"):
        prompt_style({"prompt_style": "long"})


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (Action(Choice.TOOL, "{}", "x" * 60), f"there is no tool named {'x' * 40!r}"),
        (Action(Choice.SEARCH, "tea"), "there is nothing to search in this world"),
        (Action(Choice.ACTION, "tea"), "there is nobody to talk to in this world"),
        (Action(Choice.MALFORMED, "empty message"), "empty message"),
    ],
)
def test_a_move_without_a_use_is_told_why(action: Action, why: str) -> None:
    assert refusals.reason(action) == why


def test_every_kind_of_move_can_be_refused_in_words() -> None:
    assert all(refusals.reason(Action(choice, "said", "name")) for choice in Choice)


def test_a_reply_may_name_facts_of_the_task_alone() -> None:
    refuse_unknown(TASK, ("A", "A"))
    with pytest.raises(ValueError, match=r"^task t has no clues \['B', 'C'\]$"):
        refuse_unknown(TASK, ("C", "A", "B", "C"), "clues")
    with pytest.raises(ValueError, match=r"^task t has no facts \['A'\]$"):
        refuse_unknown(TASK, ("A",), known=())
    refuse_unknown(TASK, ("D1",), known={"D1": 3})
