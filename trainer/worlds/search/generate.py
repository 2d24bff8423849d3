"""Makes our own search tasks from a seed: a small country of writers, books and towns.

Every question goes from a book to its author, to the town of birth and perhaps to what is known of
the town. Run `python -m trainer.worlds.search.generate` to write the two files anew; a test holds
that they are what this module makes. Nothing here plays a task.
"""

from __future__ import annotations

import random
from typing import Any

from trainer.worlds import task_files
from trainer.worlds.search.loader import BUILT_IN

SEED = 7
NUM_TRAIN = 24
NUM_EVALUATION = 8
CANARY = "EAU-EVALUATION-9d4402fc-search"
NUM_OTHERS = 7
"""Documents of a task that its question does not need."""

_FIRST = "Mira Tolen Anka Berin Cosmo Dalia Edrik Fenna Goran Hilde Ivo Jorun Kasimir Lorna".split()
_LAST = (
    "Oldane Brask Wender Kolvik Thursen Ravel Dunmore Castrel Ostergate Pell Quist Hamlow".split()
)
_TOWNS = "Vessel Karnholm Brindle Osterby Luntz Marrow Tarnfeld Wyke Dorrin Hallin".split()
_RIVERS = "Orle Sava Tinder Lomme Brack Neral Ashwater Ilmen Quell Druse".split()
_COLOURS = "Salt Glass Copper Winter Hollow Silver Paper Amber".split()
_THINGS = "Ledger Orchard Ferry Compass Tower Almanac Garden Lantern".split()

QUESTIONS = (
    ("In which town was the author of {book} born?", "town", 2),
    ("Which river flows through the town where the author of {book} was born?", "river", 3),
    ("In which year was the town founded where the author of {book} was born?", "founded", 3),
    ("Who is the mayor of the town where the author of {book} was born?", "mayor", 3),
)
"""Text, the field that answers it, and how many documents lead there."""


def records() -> list[dict[str, Any]]:
    """Return every task record, training first; no book occurs twice."""
    rng = random.Random(SEED)
    names = [f"{first} {last}" for first in _FIRST for last in _LAST]
    rng.shuffle(names)
    towns = [
        {"town": town, "river": river, "founded": str(rng.randint(900, 1700)), "mayor": names.pop()}
        for town, river in zip(_TOWNS, _RIVERS, strict=True)
    ]
    titles = [f"The {colour} {thing}" for colour in _COLOURS for thing in _THINGS]
    rng.shuffle(titles)
    books = [
        {"book": title, "year": rng.randint(1850, 1990), "author": names.pop(), **rng.choice(towns)}
        for title in titles[: NUM_TRAIN + NUM_EVALUATION]
    ]
    return [_record(number, book, books, towns, rng) for number, book in enumerate(books)]


def texts() -> dict[str, str]:
    """Return the text of each split's file."""
    return task_files.texts(records(), NUM_TRAIN, CANARY)


def main() -> None:
    """Write both files."""
    for split, text in texts().items():
        BUILT_IN[split].write_text(text, encoding="utf-8")


def _record(
    number: int,
    book: dict[str, Any],
    books: list[dict[str, Any]],
    towns: list[dict[str, str]],
    rng: random.Random,
) -> dict[str, Any]:
    text, field, num_hops = QUESTIONS[number % len(QUESTIONS)]
    needed = [_book(book), _author(book), _town(book)]
    # Others of the same split, so that no held-out book stands in a training task.
    peers = books[:NUM_TRAIN] if number < NUM_TRAIN else books[NUM_TRAIN:]
    others = [page(peer) for peer in peers if peer is not book for page in (_book, _author)]
    others += [_town(town) for town in towns if town["town"] != book["town"]]
    shown = needed + rng.sample(others, NUM_OTHERS)
    rng.shuffle(shown)
    return {
        "id": f"search-{number + 1}",
        "question": text.format(book=book["book"]),
        "answer": book[field],
        "documents": shown,
        "hops": [document["title"] for document in needed[:num_hops]],
    }


def _book(book: dict[str, Any]) -> dict[str, str]:
    text = f"{book['book']} is a novel of {book['year']} by {book['author']}."
    return {"title": book["book"], "text": text}


def _author(book: dict[str, Any]) -> dict[str, str]:
    text = f"{book['author']} was a writer of novels, born in {book['town']}."
    return {"title": book["author"], "text": text}


def _town(town: dict[str, str]) -> dict[str, str]:
    text = (
        f"{town['town']} is a town on the river {town['river']}, founded in {town['founded']}. "
        f"Its mayor is {town['mayor']}."
    )
    return {"title": town["town"], "text": text}


if __name__ == "__main__":
    main()
