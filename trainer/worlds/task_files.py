"""Files of our own tasks as generators write them: one record a line; same records, same bytes.

Their places are `source.own_files`. What a record holds is the word of each world.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]


def texts(records: Sequence[Record], num_train: int, canary: str) -> dict[str, str]:
    """Return the text of each split's file.

    Args:
        records: All tasks, those to train on first.
        num_train: How many those are; the others are held out.
        canary: Stands in every record that is held out.
    """
    held_out = [{**record, "canary": canary} for record in records[num_train:]]
    return {
        split: "".join(json.dumps(record) + "\n" for record in chosen)
        for split, chosen in (("train", records[:num_train]), ("evaluation", held_out))
    }


def write(path: Path, records: Iterable[Record]) -> None:
    """Write a file of records without a blank between their parts; its folder may be missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(record, separators=(",", ":")) for record in records)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
