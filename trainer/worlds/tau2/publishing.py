"""Publishing: the shelves of a world's own tasks and its labelled dialogues, under one folder.

Which wishes there are, and what they are about, is the word of each world. Same drafts, same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from trainer.task import Task
from trainer.worlds.tau2 import drafts, loading, transcripts
from trainer.worlds.tau2.drafts import Draft
from trainer.worlds.tau2.loading import Layout
from trainer.worlds.tau2.office import Bases, Domain
from trainer.worlds.tau2.transcripts import Transcript

_Business = TypeVar("_Business")


@dataclass(frozen=True)
class Shelf:
    """The tasks of a split, and what they are about."""

    drafts: Sequence[Draft]
    databases: Mapping[str, Any]
    """Content by file name."""
    bases: Bases
    """The databases as the desk takes them."""


def each_kind(
    kinds: Mapping[str, Callable[[_Business, str], Draft]],
    business: _Business,
    prefix: str,
    num_each: int,
) -> Iterator[Draft]:
    """Yield drafts of every kind of wish, all kinds once before any a second time.

    Args:
        kinds: A function for each kind, by the middle of its tasks' ids.
        business: What the wishes are about; each may add to it.
        prefix: How the ids begin; they end in a number.
        num_each: Tasks of each kind.
    """
    for number in range(1, num_each + 1):
        for kind, make in kinds.items():
            yield make(business, f"{prefix}-{kind}-{number}")


def chosen(layout: Layout, arguments: Sequence[str] | None, about: str | None) -> Layout:
    """Return a layout in the folder that a command line names with `--out`, or else as it is.

    Args:
        layout: The world's files.
        arguments: The command line; None for that of the process.
        about: What the command's help says.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", type=Path, default=layout.folder)
    return replace(layout, folder=parser.parse_args(arguments).out)


def publish(
    layout: Layout,
    shelves: Mapping[str, Shelf],
    *,
    domain: Domain,
    policy: str,
    canary: str,
    labelled: Callable[[Sequence[Task]], Sequence[Transcript]],
) -> None:
    """Write the shelves, and the labelled dialogues of tasks to train on.

    Args:
        layout: Where to.
        shelves: By split.
        domain: The desk that the tasks are played at.
        policy: What its agents must heed.
        canary: Stands in every record of the evaluation.
        labelled: Returns the dialogues, from the tasks that they are about.

    Raises:
        UnsoundTaskError: if a task may not be shipped; its shelf is not written.
    """
    for split, shelf in shelves.items():
        drafts.write(
            layout.folder / loading.SHELVES[split],
            shelf.drafts,
            shelf.databases,
            domain=domain,
            bases=shelf.bases,
            policy=policy,
            canary=canary if split == "evaluation" else "",
        )
    tasks = loading.load(layout, "train")
    transcripts.write(layout.folder / "gold", labelled(tasks), tasks)
