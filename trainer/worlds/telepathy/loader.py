"""Reads telepathy tasks, our own or TelepathyGym's, into `Task` values.

Ours add a table of attributes, one letter for each of `content.ATTRIBUTES`, so that the user's
answers need no model. TelepathyGym has only a definition: a question that names a part of it is
answered by yes, any other by maybe, which is a stand-in for the judge that it was made for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainer.task import Fact, Task
from trainer.worlds import source as sources
from trainer.worlds import userrl
from trainer.worlds.telepathy.content import ATTRIBUTES
from trainer.worlds.userrl import Gym

FOLDER = Path(__file__).parent
BUILT_IN = sources.own_files(FOLDER)
GYM = Gym(
    "telepathy",
    "TelepathyGym",
    "all_entities_refined.json",
    "data/telepathy_multiturn",
    key="title",
)
VALUES = {"y": "yes", "n": "no", "m": "maybe"}

_KEYS = ("id", "title", "description", "goal", "target_entity", "category", "attributes", "aliases")
_SCHEMA = f"{', '.join(_KEYS[:6])}; ours also a letter of y, n, m for each attribute"
_PART = re.compile(r"[,;()]+")
_PARENTHESIS = re.compile(r"\s*\([^)]*\)")
_WORD = re.compile(r"[^\W_]+")


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split, ours or TelepathyGym's; see `userrl.load`."""
    return userrl.load(GYM, split, source, task, own=BUILT_IN, schema=_SCHEMA)


def task(record: Mapping[str, Any], provenance: str = "built-in") -> Task:
    """Return the task that one record describes.

    Raises:
        KeyError: if the record lacks a field of the schema.
        ValueError: if the description gives the title away, or the attributes are not one letter
            for each of the table.
    """
    title, opening = record["title"], record["description"]
    if title.casefold() in opening.casefold():
        raise ValueError(f"the description gives the title {title!r} away")
    name, _, definition = record["target_entity"].partition(" - ")
    names = [title, name, _PARENTHESIS.sub("", title), *record.get("aliases", ())]
    facts = (
        _attributes(record["attributes"])
        if "attributes" in record
        else _parts(definition, record["category"], f"{title} {name}")
    )
    return Task(
        id=record["id"],
        world="telepathy",
        goal=f"Have the agent guess this by yes or no questions: {record['target_entity']}",
        opening=opening,
        facts=facts,
        payload={"names": list(dict.fromkeys(names)), "category": record["category"]},
        provenance=provenance,
        extra=sources.unknown(record, _KEYS),
    )


def _attributes(letters: str) -> tuple[Fact, ...]:
    if len(letters) != len(ATTRIBUTES) or set(letters) - VALUES.keys():
        raise ValueError(f"attributes are {letters!r}; write {len(ATTRIBUTES)} of y, n and m")
    return tuple(
        Fact(
            id=f"A{number}",
            kind=f"attribute.{attribute.name}",
            text=f"{attribute.name}: {VALUES[letter]}",
            statement=attribute.answer(VALUES[letter]),
            cues=(attribute.question, *attribute.cues),
        )
        for number, (attribute, letter) in enumerate(zip(ATTRIBUTES, letters, strict=True), 1)
    )


def _parts(definition: str, category: str, names: str) -> tuple[Fact, ...]:
    """Return a fact for each part of a definition; a word of the title is no part of any."""
    hidden = set(_WORD.findall(names.casefold()))
    parts = [category.replace("_", " "), *_PART.split(definition)]
    spoken = [
        " ".join(word for word in _WORD.findall(part.casefold()) if word not in hidden)
        for part in parts
    ]
    kept = [part for part in dict.fromkeys(spoken) if part]
    return tuple(
        Fact(f"A{number}", f"attribute.{number}", part, "Yes.", (part,))
        for number, part in enumerate(kept, start=1)
    )
