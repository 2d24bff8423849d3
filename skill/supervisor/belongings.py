"""Belongings: what of a checkout and a run belongs to whom, for the custody of one tick.

The meta-agent has `candidate/`, `proposals/` and `experience/` of its own run. Of these, what is
written once stays: a proposal, a lesson. Everything else has another owner.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from gate.contract import files, knobs, protected, watch_mark
from gate.contract.paths import RunPaths
from skill.supervisor.custody import Custody

CODE = (*protected.TREES, "skill", "tests", "docs", "knobs", ".claude", ".agents", ".codex")
"""Folders of the checkout to which nothing may be added and in which nothing may change."""

PAGES = ("AGENTS.md", "CLAUDE.md", "README.md", "Makefile", "pyproject.toml", "constraints.txt")

NEWEST_EPISODES = 3
"""Files of episodes whose content is remembered; of older ones only the marks."""

MOST_RUNS = 20
"""Other runs, the newest, that are looked at."""

EVALUATION_ROOT = "EAU_EVAL_ROOT"


def take(run: RunPaths, *, checkout: Path) -> Custody:
    """Return everything of others that one tick must leave as it is.

    The knob files are not among it: their owner is whoever edits them (see `live_knobs`).

    Args:
        run: The run that the tick is about.
        checkout: The checkout whose code the run uses.
    """
    custody = Custody(passed_over=frozenset(_watched(run)))
    for name in CODE:
        custody.keep_folder(checkout / name, closed=True)
    for name in PAGES:
        custody.keep_folder(checkout / name, closed=False)
    _keep_run(custody, run)
    for path in _others(run):
        other = RunPaths(path)
        custody.keep_folder(other.launch, closed=False)
        _keep_records(custody, other)
        for name in knobs.FILES:
            custody.keep_marks([other.knob_file(name)])
    return custody


def take_own(run: RunPaths, *, experience: Path) -> Custody:
    """Return what the meta-agent itself wrote in earlier ticks and may not change any more."""
    custody = Custody()
    for path in (run.proposals, experience / "lessons"):
        custody.keep_folder(path, closed=False)
    return custody


def hidden(checkout: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders that a meta-agent finds empty: evaluation, and the history that holds it.

    Args:
        checkout: The checkout.
        environment: Variables that say where evaluations are kept.
    """
    home = environment.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    results = Path(environment.get(EVALUATION_ROOT) or Path(home) / "eau" / "evaluations")
    tasks = sorted((checkout / "trainer" / "worlds").glob("*/evaluation"))
    # `git show` would read the tasks from the history as well as from the files.
    places = (results, checkout / ".git", *tasks)
    return tuple(path.resolve() for path in places if path.is_dir())


def owned(run: RunPaths, experience: Path) -> tuple[Path, Path, Path]:
    """Return the three folders that a meta-agent may write, made if they are missing."""
    folders = (run.candidate, run.proposals, experience)
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    return folders


def live_knobs(run: RunPaths) -> tuple[Path, ...]:
    """Return the folder of a run's live knobs, links followed; none while it is gone."""
    folder = run.knobs.resolve()
    return (folder,) if folder.is_dir() else ()


def _watched(run: RunPaths) -> Iterator[Path]:
    """Yield the files of folders that live runs watch, which may be any of the checkout's.

    The gate and the trainers write there meanwhile. This run's own are held by `live_knobs`.
    """
    for path in (run.root, *_others(run)):
        one = RunPaths(path)
        if one.knobs.is_symlink() and (path == run.root or watch_mark.holder(one.knobs)):
            folder = one.knobs.resolve()
            yield folder / watch_mark.NAME
            yield from (folder / f"{name}.yaml" for name in knobs.FILES)


def _keep_run(custody: Custody, run: RunPaths) -> None:
    custody.keep_folder(run.launch, closed=False)
    custody.keep_folder(run.world, closed=False)
    if run.knobs.is_symlink():
        custody.keep_folder(run.knobs, closed=False)
    _keep_records(custody, run)
    names = sorted(os.listdir(run.episodes), reverse=True) if run.episodes.is_dir() else []
    for name in names[:NEWEST_EPISODES]:
        custody.keep_growing(run.episodes / name, _any)
    custody.keep_marks(run.episodes / name for name in names[NEWEST_EPISODES:])
    custody.keep_marks(path for path in run.checkpoints.glob("*/*") if path.is_file())
    for tick in sorted(run.supervisor.glob("[0-9]*"))[:-1]:
        custody.keep_folder(tick, closed=True)


def _keep_records(custody: Custody, run: RunPaths) -> None:
    custody.keep_growing(run.ledger, _chained)
    custody.keep_growing(run.steps, _next_step)
    custody.keep_growing(run.events, _any)


def _chained(before: bytes, line: bytes) -> bool:
    """Return whether a line of a ledger carries the digest of the one before it."""
    record = files.parse_line(line)[0] or {}
    return record.get("previous") == files.content_digest(before)


def _next_step(before: bytes, line: bytes) -> bool:
    """Return whether a record is of the step after another's."""
    last, record = files.parse_line(before)[0] or {}, files.parse_line(line)[0] or {}
    return record.get("step") == 1 + (last.get("step") or 0)


def _any(before: bytes, line: bytes) -> bool:
    """Return true: lines of this file do not follow from each other."""
    return True


def _others(run: RunPaths) -> list[Path]:
    mine = run.root.resolve()
    found = [
        path.parent
        for path in mine.parent.glob("*/run.yaml")
        if not path.parent.is_symlink() and path.parent.resolve() != mine
    ]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[:MOST_RUNS]
