"""What `eau why --json` and `eau history --json` print, as `docs/looking.md` tells it.

Made from the declarations of the fields, so that page and program cannot part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from trainer.looking.chronicle import Line
from trainer.looking.why import Account


def markdown() -> str:
    """Return the tables of both, a row a field; the fields of its parts stand in the same row."""
    return "\n".join(
        [
            "`eau why RUN STEP --json` prints one object:",
            "",
            *_table(Account),
            "",
            "`eau history RUN --json` prints `run`, `damage` and `lines`, each of which has:",
            "",
            *_table(Line),
        ]
    )


def _table(kind: type) -> Iterator[str]:
    yield "| field | meaning |"
    yield "|---|---|"
    hints = get_type_hints(kind)
    for one in fields(kind):
        parts = [part for part in get_args(hints[one.name]) if is_dataclass(part)]
        inner = "".join(f" Each: {_listed(part)}" for part in parts)
        yield f"| `{one.name}` | {one.metadata['sentence']}{inner} |".replace("\n", " ")


def _listed(part: Any) -> str:
    told = (f"`{one.name}` ({one.metadata['sentence'].rstrip('.')})" for one in fields(part))
    return ", ".join(told) + "."
