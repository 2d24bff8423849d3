"""`eau`: train, resume, evaluate and look at runs.

Exit codes: 0 done, 1 a run failed or nothing was found, 2 a recipe, task file, checkpoint or
argument that cannot be used (nothing was written). This module knows every command by name and
sentence, and loads the one that is asked for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gate.contract.files import DiskFull
from gate.contract.findings import Refused
from trainer.errors import Unusable

MISUSE = 2

COMMANDS: Mapping[str, str] = {
    "doctor": (
        "Check machine, recipe, models, keys and services before a run; exit code 1 for a fault."
    ),
    "train": "Train a policy from a recipe, with its knobs live under runs/<id>/knobs/.",
    "iterate": "Launch a run under a meta-agent, again only for a named fault; five at most.",
    "resume": "Go on with a run that was stopped or killed; nothing on file is lost.",
    "evaluate": (
        "Play the pinned evaluation: held-out tasks, revision 0 of the world, default knobs."
    ),
    "show": "Read dialogues, the newest first, with events, facts revealed and payments.",
    "watch": "Watch a run: success, what is in force, open tests, health and news; until it ends.",
    "track": "Follow a run into a tracker, from its first step until it ends; no step twice.",
    "why": "Tell what was in force in a step, who put it there and why, and what it had shown.",
    "history": (
        "List what came into force and what was found, a line each, with effect and interval."
    ),
    "report": "Write one page about a run: curves, history, tests, dialogues; it loads nothing.",
    "compare": (
        "Compare runs: success over the last steps, with its interval where there are seeds."
    ),
    "promote": "Bring a run's proven knobs and world edits back into the repository as a diff.",
    "export": (
        "Write a run's policy as a Hugging Face directory, whole, however many ranks trained it."
    ),
    "twins": (
        "Train two twins of a run from its newest checkpoint, and tell the verdict on its ledger."
    ),
    "demo": "Train a small policy while a planted fault is noticed, mended and judged; minutes.",
    "study": "Train the demo's recipe over seeds and put start and end to the pinned evaluation.",
    "grid": "Run the cells of the study of methods that have no result yet; tell what they show.",
    "recipes": "List the built-in recipes.",
    "worlds": "List the worlds, and what their oracle and their idle player score.",
    "docs": "Write the generated documents anew, or tell which do not say what the code says.",
    "probe": "Try a candidate world, its rules and its knobs; one line of JSON, for the gate.",
    "schedule": (
        "Simulate rollout schedules on a fleet: what stragglers and uneven dialogues cost."
    ),
    "bench": "Measure speed and overhead, as ratios within one run (docs/benchmarks.md).",
}
"""Every command, which is the module of that name in `trainer.commands`, and its sentence."""


class LazyCommands(TyperGroup):
    """Commands of which one is loaded when its turn comes; the others stay names."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name, the loaded command and the words left for it."""
        name, known, rest = super().resolve_command(ctx, args)
        return name, known if name is None else load(name), rest


app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Co-evolve an agent, its environment and its user while PPO is running.",
)


@app.callback()
def _everywhere(
    local_rank: Annotated[
        int | None,
        typer.Option("--local_rank", hidden=True, help="DeepSpeed's launcher passes it."),
    ] = None,
) -> None:
    # Every rank finds its place in the environment, whichever launcher started it.
    del local_rank


def load(name: str) -> Any:
    """Return a command, imported, as Typer runs it.

    Args:
        name: One of `COMMANDS`.
    """
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name)(importlib.import_module(f"trainer.commands.{name}").command)
    return typer.main.get_command(alone)


def _stand_in() -> None:
    raise AssertionError("a command is loaded before it is run")


for _name, _sentence in COMMANDS.items():
    app.command(_name, help=_sentence)(_stand_in)


def main() -> None:
    """Run the command line; every expected fault is one message and an exit code."""
    try:
        app()
    except (Unusable, Refused) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(MISUSE)
    except DiskFull as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
