"""`eau docs`: the documents that are made from the code."""

from __future__ import annotations

from typing import Annotated

import typer

from trainer import documents


def command(
    check: Annotated[bool, typer.Option("--check", help="Only tell; exit 1 if any.")] = False,
) -> None:
    """Write the generated documents anew, or tell which do not say what the code says."""
    found = documents.stale() if check else documents.rewrite()
    for path in found:
        print(f"{'stale' if check else 'written'}: {path}")
    raise typer.Exit(1 if check and found else 0)
