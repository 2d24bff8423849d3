"""`eau promote`: what a run proved, back into the repository as a diff."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from gate.contract import ledger
from gate.contract.paths import RunPaths
from trainer import promotion, proven
from trainer.commands.options import AsJson, RunName
from trainer.errors import Unusable
from trainer.run_folder import RUNS, find_run

CHECKOUT = Path(__file__).resolve().parents[2]
LIVE = frozenset({"starting", "warm_start", "training", "paused"})


def command(
    run: RunName = "latest",
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the files; commit nothing.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--everything", help="Also what no verdict calls a help.")
    ] = False,
    as_json: AsJson = False,
    runs: Annotated[Path, typer.Option(help="Folder that holds the runs.")] = RUNS,
    checkout: Annotated[Path, typer.Option(help="The checkout to bring it into.")] = CHECKOUT,
) -> None:
    """Bring a run's proven knobs and world edits back into the repository as a diff.

    Without --apply it only prints the diff. Proven is what the gate's newest verdict calls a
    help and what nothing took back. Exit status 1: a file is in conflict, and was left alone.

    Examples: 'eau promote latest', 'eau promote latest > proven.patch',
    'eau promote latest --apply'.
    """
    paths = find_run(run, runs)
    try:
        taken = proven.take(paths, everything=everything)
    except ledger.Damaged as error:
        raise proven.PromotionError(str(error)) from error
    made = promotion.edits(taken, checkout=checkout)
    if apply:
        _refuse_live(paths, made)
        promotion.write(made, checkout=checkout)
    if as_json:
        told = {
            "revisions": list(taken.revisions),
            "left": {str(number): why for number, why in taken.left.items()},
            "files": [str(one.path) for one in made if not one.conflict],
            "conflicts": {str(one.path): one.conflict for one in made if one.conflict},
            "written": apply,
            "patch": "".join(one.patch() for one in made if not one.conflict),
        }
        print(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        sys.stdout.write("".join(one.patch() for one in made if not one.conflict))
        _say(taken, made, apply)
    raise typer.Exit(1 if any(one.conflict for one in made) else 0)


def _say(taken: proven.Taken, made: tuple[promotion.Edit, ...], written: bool) -> None:
    """Tell on stderr what the diff is made of, so that stdout is a patch."""
    numbers = ", ".join(map(str, taken.revisions)) or "none"
    print(f"revisions taken over: {numbers}", file=sys.stderr)
    for number, why in taken.left.items():
        print(f"  left: revision {number} ({why})", file=sys.stderr)
    for one in made:
        if one.conflict:
            print(f"  left: {one.path}: {one.conflict}; merge it by hand", file=sys.stderr)
    if not made:
        print("nothing in the repository would change", file=sys.stderr)
    elif written:
        print("written; review it with `git diff`", file=sys.stderr)


def _refuse_live(paths: RunPaths, made: tuple[promotion.Edit, ...]) -> None:
    """Refuse to change the worlds of a checkout that a run is training with."""
    if not any(one.path.is_relative_to(promotion.WORLDS) for one in made):
        return
    try:
        status = json.loads(paths.status.read_bytes())
        os.kill(int(status["pid"]), 0)
    except (OSError, ValueError, LookupError, TypeError):
        return
    if status.get("phase") in LIVE:
        raise Unusable(
            f"{paths.root.name} is training with the worlds of this checkout, and the gate would "
            "refuse every proposal once they change; wait until it has ended, or stop it"
        )
