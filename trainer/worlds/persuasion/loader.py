"""Reads persuasion tasks, our own or PersuadeGym's, into `Task` values.

Ours say which points the holder grants and how far each moves them, six steps in all. PersuadeGym
has only claim and argument: there the points are the sentences of the holder's own argument, and
a message that takes up most of a sentence's longest words is granted it, which is a stand-in for
the model that it was made for. The records lie in a JSON file or, where a clone lacks that, in the
parquet files of its splits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainer.task import Fact, Task
from trainer.worlds import source as sources
from trainer.worlds import task_records, userrl
from trainer.worlds.source import SourceError
from trainer.worlds.userrl import Gym

FOLDER = Path(__file__).parent
BUILT_IN = sources.own_files(FOLDER)
GYM = Gym(
    "persuasion",
    "PersuadeGym",
    "all_statements_refined.json",
    "data/persuasion_multiturn",
)
NUM_STEPS = 6
"""From the first to the last stance."""
CUE_WORDS = 3
MIN_WORD_CHARS = 5

_KEYS = ("id", "claim", "argument", "concessions")
_ROW_KEYS = ("style", "ground_truth", "env_name")
_SCHEMA = "id, claim and argument; ours also concessions with point, cues, steps and reply"
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[^\W\d_]+")
_PARQUET = {"train": "train.parquet", "evaluation": "test.parquet"}


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split, in file order.

    Args:
        split: `train` or `evaluation`.
        source: None for our own tasks; else the root of a clone of UserRL, the folder that holds
            `all_statements_refined.json`, or such a file. A clone without that file is read from
            the parquet files of its splits, for which `pyarrow` is needed.

    Raises:
        SourceError: if no file is found (all tried paths are listed) or a record is unusable.
    """
    if source is None:
        return task_records.load(BUILT_IN[split], task, schema=_SCHEMA)
    parquet = source / GYM.ids / _PARQUET[split]
    jsons = [source] if source.is_file() else [source / GYM.file, source / GYM.folder / GYM.file]
    path = sources.first_existing([*jsons, parquet], "persuasion tasks")
    if path == parquet:
        rows = userrl.rows_of(parquet)
        if rows is None:
            raise SourceError(f"{parquet}: cannot be read without pyarrow; pip install pyarrow")
        records = [{k: v for k, v in row.items() if k not in _ROW_KEYS} for row in rows]
        provenance = f"{GYM.name} {path} (ids of the split)"
    else:
        chosen = userrl.split(GYM, split, source)
        content = sources.read_json(path)
        every = _keyed(content) if isinstance(content, dict) else userrl.listed(content, path)
        records = [record for record in every if chosen.holds(str(record.get("id")))]
        provenance = f"{GYM.name} {path} ({chosen.how})"
    return task_records.build(records, path, task, provenance=provenance, schema=_SCHEMA)


def task(record: Mapping[str, Any], provenance: str = "built-in") -> Task:
    """Return the task that one record describes.

    Raises:
        KeyError: if the record lacks a field of the schema.
        ValueError: if its concessions do not move the holder six steps in all.
    """
    claim, argument = record["claim"], record["argument"]
    facts = (
        _granted(record["concessions"]) if "concessions" in record else _sentences(claim, argument)
    )
    if sum(fact.weight for fact in facts) != NUM_STEPS or any(fact.weight < 1 for fact in facts):
        raise ValueError(f"the concessions must be worth {NUM_STEPS} steps in all, each at least 1")
    return Task(
        id=str(record["id"]),
        world="persuasion",
        goal=f"You strongly agree with the claim: {claim} Your reasons: {argument}",
        opening=f"I am convinced of this: {claim}",
        facts=facts,
        payload={"claim": claim},
        provenance=provenance,
        extra=sources.unknown(record, _KEYS),
    )


def _keyed(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"id": key, **record} for key, record in content.items()]


def _granted(entries: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    return tuple(
        Fact(
            id=f"C{number}",
            kind=f"concession.{number}",
            text=entry["point"],
            statement=entry["reply"],
            cues=tuple(entry["cues"]),
            weight=float(entry["steps"]),
        )
        for number, entry in enumerate(entries, start=1)
    )


def _sentences(claim: str, argument: str) -> tuple[Fact, ...]:
    """Return up to six points, one a sentence; the first ones are worth what is left over."""
    cues = list(dict.fromkeys(filter(None, map(_cue, _SENTENCE.split(argument)))))[:NUM_STEPS]
    cues = cues or [_cue(claim) or claim]
    steps, left = divmod(NUM_STEPS, len(cues))
    return tuple(
        Fact(
            id=f"C{number}",
            kind=f"concession.{number}",
            text=cue,
            statement=f"On the matter of {cue.split()[0]} I must grant you something.",
            cues=(cue,),
            weight=float(steps + (number <= left)),
        )
        for number, cue in enumerate(cues, start=1)
    )


def _cue(sentence: str) -> str:
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(sentence))
    long = [word for word in words if len(word) >= MIN_WORD_CHARS]
    return " ".join(sorted(long, key=len, reverse=True)[:CUE_WORDS])
