"""Reads turtle tasks, our own or TurtleGym's, into `Task` values.

Ours add keywords to each criterion and clues to each story, so that neither stories nor questions
need a model. For TurtleGym's stories the words of a criterion are its keywords, and a question
that names them is answered by yes: a stand-in for the judge that they were made for. Surfaces that
are residue of scraping are left out and told.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainer.task import Fact, Task
from trainer.worlds import source as sources
from trainer.worlds import userrl
from trainer.worlds.source import SourceError
from trainer.worlds.userrl import Gym, Split

FOLDER = Path(__file__).parent
BUILT_IN = sources.own_files(FOLDER)
GYM = Gym(
    "turtle",
    "TurtleGym",
    "all_stories_refined.json",
    "data/turtle_multiturn",
    key="title",
)
OWN_SHARES = {"full_share": 1.0, "half_share": 0.5}
"""Shares of a criterion's groups from which it is told wholly or half, for keywords of ours."""
WORD_SHARES = {"full_share": 0.6, "half_share": 0.3}
"""The same where every word of the criterion is a group."""
MIN_SURFACE_WORDS = 6

_KEYS = ("id", "judgment", "judgment_thought", "new_title", "new_surface", "new_bottom")
_MORE_KEYS = ("evaluation_thought", "evaluation", "clues")
_SCHEMA = "new_title, new_surface, new_bottom and evaluation, a list of statement and score"
_RESIDUE = re.compile(r"\s*(?:author|adapted by)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_SMALL_WORDS = frozenset(
    "a an and are as at be been because but by did do for from had has have he her him his in into "
    "is it its of on or she so that the their them they this to was were which who with".split()
)

_log = logging.getLogger(__name__)


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split, ours or TurtleGym's; see `userrl.load`."""
    return userrl.load(
        GYM, split, source, task, own=BUILT_IN, schema=_SCHEMA, choose=_whole_stories
    )


def task(record: Mapping[str, Any], provenance: str = "built-in") -> Task:
    """Return the task that one record describes.

    Raises:
        KeyError: if the record lacks a field of the schema.
        ValueError: if there is no criterion, or one has no weight or no word.
    """
    title, entries = record["new_title"], record["evaluation"]
    if not entries:
        raise ValueError("`evaluation` is empty, so no story can be scored")
    ours = "clues" in record
    criteria = [_criterion(entry) for entry in entries]
    return Task(
        id=record.get("id", title),
        world="turtle",
        goal=f"Have the agent find out what lies behind the story: {record['new_bottom']}",
        opening=f"{title}: {record['new_surface']}",
        facts=_clues(record["clues"]) if ours else _answers(criteria),
        payload={"criteria": criteria, **(OWN_SHARES if ours else WORD_SHARES)},
        provenance=provenance,
        extra=sources.unknown(record, (*_KEYS, *_MORE_KEYS)),
    )


def _whole_stories(content: Any, path: Path, chosen: Split) -> list[Mapping[str, Any]]:
    """Return the stories of a split that were kept; those without a surface are left out, aloud."""
    if not isinstance(content, dict):
        raise SourceError(f"{path}: must be an object from number to story")
    stories = [
        story
        for story in content.values()
        if story.get("judgment") == "Yes" and chosen.holds(str(story.get("new_title")))
    ]
    broken = [story["new_title"] for story in stories if _is_residue(story["new_surface"])]
    if broken:
        _log.warning("%s: left out, their surface is no story: %s", path, ", ".join(broken))
    return [story for story in stories if story["new_title"] not in broken]


def _criterion(entry: Mapping[str, Any]) -> dict[str, Any]:
    # Hundredths as whole numbers: 0.3 + 0.3 + 0.4 need not be 1, 30 + 30 + 40 is 100.
    weight = round(float(entry["score"]) * 100)
    groups = entry.get("keywords") or [[word] for word in _content(entry["statement"])]
    if weight < 1 or not groups:
        raise ValueError(f"criterion {entry['statement']!r} has no weight or no word")
    return {"statement": entry["statement"], "weight": weight, "groups": groups}


def _clues(entries: list[Mapping[str, Any]]) -> tuple[Fact, ...]:
    return tuple(
        Fact(
            id=f"Q{number}",
            kind=f"clue.{number}",
            text=f"{entry['question']} {entry['answer']}",
            statement=entry["answer"],
            cues=(entry["question"],),
        )
        for number, entry in enumerate(entries, start=1)
    )


def _answers(criteria: list[dict[str, Any]]) -> tuple[Fact, ...]:
    return tuple(
        Fact(f"Q{number}", f"clue.{number}", entry["statement"], "Yes.", (entry["statement"],))
        for number, entry in enumerate(criteria, start=1)
    )


def _content(statement: str) -> list[str]:
    words = _WORD.findall(statement.casefold())
    return list(dict.fromkeys(word for word in words if word not in _SMALL_WORDS))


def _is_residue(surface: str) -> bool:
    return bool(_RESIDUE.match(surface)) or len(_WORD.findall(surface)) < MIN_SURFACE_WORDS
