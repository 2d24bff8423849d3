"""Makes travel tasks: the same seed gives the same file, and no split shares a combination.

    python -m trainer.worlds.travel.generate --seed 7

writes `tasks/train.jsonl` and `evaluation/tasks.jsonl` beside this file; `--out DIR` writes them
elsewhere. A combination is what is wanted, by aspect, topic and value: a digest of it alone
decides the split it may appear in, whatever the seed. Nothing here plays or judges a task.

Options are made so that they betray nothing: for each topic two values are listed and every
combination of them is offered, some twice at two prices; only then one combination is drawn to
be the wanted one. Half of all choices stay open for whoever knows one wish out of two.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from trainer import seeds
from trainer.worlds import task_files
from trainer.worlds.source import own_files
from trainer.worlds.travel import content

CANARY = "EAU-EVALUATION-TRAVEL-5d1f7c02-9a3e-4b60-8f14-2c7be1a90d63"
"""Stands in every evaluation record and nowhere else, so that a leak can be searched for."""

EVALUATION_SHARE = 5
"""One combination in so many is reserved for evaluation."""

FOLDER = Path(__file__).parent

_PLACES = ("Arlen", "Bruma", "Castor Bay", "Dunmore", "Elvas Point", "Ferro", "Galway Heath")
_REASONS = ("a birthday", "a conference", "a family visit", "a honeymoon", "a school trip")


class Mix(NamedTuple):
    """How many tasks of one set a file holds."""

    set_name: str
    """Digits: the number of wishes for each aspect, as in `23`."""
    small: bool
    """True for the small tier: fixed topics, direct statements, no noise."""
    train: int
    evaluation: int


MIXES = (
    Mix("22", True, 240, 64),
    Mix("22", False, 24, 8),
    Mix("23", False, 16, 4),
    Mix("33", False, 16, 4),
    Mix("222", False, 16, 4),
    Mix("333", False, 8, 2),
)


def make_tasks(seed: int, split: str) -> list[dict[str, Any]]:
    """Return the records of one split, in the schema of TravelGym's files with an `id` each.

    Args:
        seed: Any integer; it decides everything but the split of a combination.
        split: `train` or `evaluation`.
    """
    seen: set[str] = set()
    records: list[dict[str, Any]] = []
    for mix in MIXES:
        wanted_num = mix.train if split == "train" else mix.evaluation
        fresh = _fresh_records(mix, split, seed, seen)
        records += itertools.islice(fresh, wanted_num)
    if split == "evaluation":
        records = [{**record, "canary": CANARY} for record in records]
    return records


def combination(record: Mapping[str, Any]) -> str:
    """Return what a task wants, as text: equal texts are the same combination."""
    wishes = sorted(
        f"{aspect}.{topic}: {text}"
        for aspect in record["dimensions"]
        for _, topic, text, _ in record[aspect]["preferences"]
    )
    return "; ".join(wishes)


def split_of(combination: str) -> str:
    """Return the one split in which a combination may appear."""
    digest = hashlib.sha256(combination.encode()).digest()
    return "evaluation" if digest[0] % EVALUATION_SHARE == 0 else "train"


def _fresh_records(mix: Mix, split: str, seed: int, seen: set[str]) -> Iterator[dict[str, Any]]:
    tier = "small" if mix.small else "full"
    for attempt in itertools.count():
        rng = seeds.stream(seed, "travel", split, tier, mix.set_name, attempt)
        record = _record(mix, rng)
        wanted = combination(record)
        if wanted in seen or split_of(wanted) != split:
            continue
        seen.add(wanted)
        tag = hashlib.sha256(wanted.encode()).hexdigest()[:8]
        yield {"id": f"{tier}-{mix.set_name}-{tag}", **record}


def _record(mix: Mix, rng: random.Random) -> dict[str, Any]:
    pool = list(content.SMALL_TOPICS if mix.small else content.TOPICS)
    aspects = rng.sample(pool, len(mix.set_name))
    counts = [int(digit) for digit in mix.set_name]
    rng.shuffle(counts)
    parts = {
        aspect: _aspect(aspect, count, mix.small, rng)
        for aspect, count in zip(aspects, counts, strict=True)
    }
    return {
        "set": mix.set_name,
        "tier": "small" if mix.small else "full",
        "scenario": f"{rng.choice(_REASONS)} in {rng.choice(_PLACES)}",
        "dimensions": aspects,
        "wanted_num": counts,
        "initial_description": _description(aspects, counts),
        **parts,
    }


def _description(aspects: list[str], counts: list[int]) -> str:
    names = [aspect.replace("_", " ") for aspect in aspects]
    articles = ["an" if name[0] in "aeiou" else "a" for name in names]
    needs = [f"{article} {name}" for article, name in zip(articles, names, strict=True)]
    wishes = [f"{count} about the {name}" for count, name in zip(counts, names, strict=True)]
    return f"I need {_listed(needs)}. I have some wishes: {_listed(wishes)}."


def _listed(words: list[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1]


def _aspect(aspect: str, num_wishes: int, small: bool, rng: random.Random) -> dict[str, Any]:
    if small:
        topics = list(content.SMALL_TOPICS[aspect])
    else:
        # Where there are two wishes, one topic is listed without a wish: asking for it costs
        # a turn and reveals nothing.
        topics = rng.sample(list(content.TOPICS[aspect]), 3)
    grid = [rng.sample(content.values(aspect, topic), 2) for topic in topics]
    wanted = {
        topic: rng.choice(pair)
        for topic, pair in rng.sample(list(zip(topics, grid, strict=True)), num_wishes)
    }
    wanted = {topic: wanted[topic] for topic in topics if topic in wanted}
    options = _options(aspect, topics, grid, small, rng)
    noise = [] if small else [_incomplete(options.pop(), [*wanted, "cost"], rng) for _ in range(2)]
    correct = [
        option
        for option in options
        if all(option[topic] == value for topic, value in wanted.items())
    ]
    return {
        "preferences": [_preference(aspect, *wish, small, rng) for wish in wanted.items()],
        "options": {
            "correct": correct,
            "wrong": [option for option in options if option not in correct],
            "noise": noise,
        },
        "correct_ids": [option["id"] for option in correct],
        "best_id": min(correct, key=lambda option: option["cost"])["id"],
        "arguments": {"topics": topics},
    }


def _options(
    aspect: str, topics: list[str], grid: list[list[str]], small: bool, rng: random.Random
) -> list[dict[str, Any]]:
    """Return every combination of the grid once and some again, at distinct prices.

    The last two are copies of others, so that they can be spared.
    """
    cells = list(itertools.product(*grid))
    cells += rng.sample(cells, 2 if small else 4)
    prices = rng.sample(range(1, 10) if small else range(10, 60), len(cells))
    numbers = rng.sample(range(1, len(cells) + 1), len(cells))
    return [
        {
            "id": f"{content.LETTERS[aspect]}{number}",
            **dict(zip(topics, cell, strict=True)),
            "cost": price,
        }
        for number, cell, price in zip(numbers, cells, prices, strict=True)
    ]


def _incomplete(option: dict[str, Any], keys: list[str], rng: random.Random) -> dict[str, Any]:
    """Return an option without one of the fields that would show that it is the best."""
    missing = rng.choice(keys)
    return {key: value for key, value in option.items() if key != missing}


def _preference(aspect: str, topic: str, value: str, small: bool, rng: random.Random) -> list[str]:
    direct, *hints = content.statements(aspect, topic, value)
    voiced = direct if small else rng.choice(hints)
    return [aspect, topic, content.TOPICS[aspect][topic].wish.format(value), voiced]


def main() -> None:
    """Write both files; see the module's text."""
    parser = argparse.ArgumentParser(description="Make the travel world's own tasks.")
    parser.add_argument("--seed", type=int, default=7, help="decides the tasks (default 7)")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write under")
    chosen = parser.parse_args()
    for split, path in own_files(chosen.out).items():
        # Another seed for each split: the digest of the combination keeps them apart anyway.
        records = make_tasks(seeds.derive(chosen.seed, split), split)
        task_files.write(path, records)
        print(f"{path}: {len(records)} tasks")


if __name__ == "__main__":
    main()
