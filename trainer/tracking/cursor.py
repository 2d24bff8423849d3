"""How far a run has been followed into a tracker, in a small file beside what the tracker keeps.

The file goes with the folder: whoever removes the folder begins anew. Nothing here knows what was
written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from gate.contract import files
from trainer.errors import Unusable

NAME = "cursor.json"


class Cursor(NamedTuple):
    """How far a run has been followed."""

    step: int = 0
    """The newest step that was written; 0 before the first."""
    seq: int = -1
    """Number of the newest line of the ledger that was told, or passed over."""


def read(folder: Path) -> Cursor:
    """Return how far a folder's tracker has come, and remove what a killed writer left.

    Raises:
        Unusable: if the file is there and says something else.
    """
    for leftover in folder.glob(f".{NAME}.*.tmp"):
        leftover.unlink(missing_ok=True)
    path = folder / NAME
    try:
        known = json.loads(path.read_bytes())
        return Cursor(int(known["step"]), int(known["seq"]))
    except FileNotFoundError:
        return Cursor()
    except (ValueError, KeyError, TypeError) as error:
        raise Unusable(
            f"{path} does not say how far the tracker has come; remove {folder} to begin anew"
        ) from error


def write(folder: Path, cursor: Cursor) -> None:
    """Put down how far a folder's tracker has come."""
    files.write_whole(folder / NAME, files.encode_line(cursor._asdict()) + b"\n")
