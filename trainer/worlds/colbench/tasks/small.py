"""The small tier of our own colbench tasks: one line of code, and three numbers to ask for.

Made for a policy of a million weights, which can learn to ask and to copy but not to program:
what a function computes is told by its opening, and only the numbers are hidden. What a function
is, numbers included, alone decides by its digest which split it may appear in. Nothing here runs
code.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from trainer import seeds
from trainer.task import Task

PREFIX = "small-"
"""How the id of a task of this tier begins."""
SEED = 7
"""Of the shipped tasks."""
EVALUATION_SHARE = 5
"""One function in so many is reserved for evaluation."""
NUM_TASKS: Mapping[str, int] = {"train": 160, "evaluation": 40}
"""Shipped tasks of each split."""


class Story(NamedTuple):
    """Who needs a function, and how it is called."""

    trade: str
    function: str
    unit: str
    """Name of its argument."""


STORIES = (
    Story("drive a taxi", "fare", "km"),
    Story("rent out boats", "rent", "hours"),
    Story("print leaflets", "price", "pages"),
    Story("keep a car park", "toll", "days"),
    Story("bake bread", "cost", "loaves"),
    Story("wash windows", "bill", "panes"),
)

TERMS: Mapping[str, tuple[int, ...]] = {
    "rate": (2, 3, 4, 5, 6, 7, 8, 9),
    "free": (2, 3, 4, 5, 6, 7, 8, 9),
    "fee": (11, 12, 13, 14, 15, 16, 17, 18, 19),
    "cap": (50, 60, 70, 80, 90),
}
"""Values of each number that a function may have; every function has a rate and two others."""
USUAL: Mapping[str, int] = {"rate": 5, "free": 5, "fee": 15, "cap": 70}
"""What someone who does not ask takes a number to be."""

_CALLS = (1, 2, 3, 4, 6, 9, 11, 13, 30, 100)
_SAID: Mapping[str, str] = {
    "rate": "The rate is {}.",
    "free": "The first {} are free.",
    "fee": "The fee is {}.",
    "cap": "The cap is {}.",
}
_SIGNATURE = re.compile(r"def (\w+)\((\w+)\)")


def holds(task: Task) -> bool:
    """True for a task of this tier."""
    return task.id.startswith(PREFIX)


def source(function: str, unit: str, terms: Mapping[str, int]) -> str:
    """Return a function as one line of code.

    Args:
        function: Its name.
        unit: Name of its argument, a number of things.
        terms: Its numbers by the names of `TERMS`; `rate` is one of them.
    """
    counted = f"max({unit}-{terms['free']},0)" if "free" in terms else unit
    total = f"{counted}*{terms['rate']}"
    if "fee" in terms:
        total += f"+{terms['fee']}"
    if "cap" in terms:
        total = f"min({total},{terms['cap']})"
    return f"def {function}({unit}): return {total}"


def assumed(task: Task, heard: Collection[str]) -> str:
    """Return the code of someone who knows some of the numbers and takes the usual ones else.

    Args:
        task: A task of this tier.
        heard: Ids of the facts whose numbers are known.

    Raises:
        ValueError: if the task is none of this tier.
    """
    signature = _SIGNATURE.match(task.payload["reference"])
    if signature is None or not holds(task):
        raise ValueError(f"task {task.id} is none of the small tier; ids there begin with {PREFIX}")
    terms: dict[str, int] = {}
    for fact in task.facts:
        name, _, value = fact.text.partition(" = ")
        terms[name] = int(value) if fact.id in heard else USUAL[name]
    return source(signature[1], signature[2], terms)


def make_records(split: str, *, seed: int = SEED) -> list[dict[str, object]]:
    """Return the records of one split, without the outputs of their calls.

    Args:
        split: `train` or `evaluation`.
        seed: Any integer; it decides everything but the split of a function.
    """
    return list(itertools.islice(_fresh(split, seed), NUM_TASKS[split]))


def split_of(code: str) -> str:
    """Return the one split in which a function may appear."""
    digest = hashlib.sha256(code.encode()).digest()
    return "evaluation" if digest[0] % EVALUATION_SHARE == 0 else "train"


def _fresh(split: str, seed: int) -> Iterator[dict[str, object]]:
    seen: set[str] = set()
    for attempt in itertools.count():
        rng = seeds.stream(seed, "colbench", split, attempt)
        story = rng.choice(STORIES)
        absent = rng.choice([name for name in TERMS if name != "rate"])
        terms = {name: rng.choice(values) for name, values in TERMS.items() if name != absent}
        code = source(story.function, story.unit, terms)
        if code not in seen and split_of(code) == split:
            seen.add(code)
            yield _record(story, terms, code)


def _record(story: Story, terms: Mapping[str, int], code: str) -> dict[str, object]:
    first, second, third = terms
    return {
        "id": f"{PREFIX}{hashlib.sha256(code.encode()).hexdigest()[:8]}",
        "problem_description": (
            f"I {story.trade}. Write {story.function}({story.unit}) with my {first}, {second} and "
            f"{third}."
        ),
        "ground_truth": code,
        "test_cases": {
            f"test{number}": f"{story.function}({value})"
            for number, value in enumerate(_CALLS, start=1)
        },
        "facts": [
            {
                "kind": "constant",
                "text": f"{name} = {value}",
                "statement": _SAID[name].format(value),
                "cues": [name],
            }
            for name, value in terms.items()
        ],
    }
