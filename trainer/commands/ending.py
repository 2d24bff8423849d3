"""How a command that trained a run ends: one line about the run, and an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console

if TYPE_CHECKING:
    from trainer.loop import Ending


def leave(ending: Ending, console: Console, root: Path) -> NoReturn:
    """Tell how a run ended and where it lies, and leave with the ending's exit code."""
    console.print(f"{ending.value}: {root}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(ending.exit_code)
