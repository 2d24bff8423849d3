"""Knob folders: which one a run watches, and edits that land in one that it does not watch.

A run may watch a folder of a person's choice in place of `runs/<id>/knobs`; no two live runs watch
one. The starting set for new runs is watched by none, and whoever edits it while a run is live is
told where the live files are. This module knows nothing about what comes into force.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gate.contract import files, knobs, watch_mark, watched
from gate.contract.findings import Finding, Severity
from gate.contract.knobs import Knobs
from gate.contract.paths import OutsideRoot, RunPaths
from gate.contract.watch_mark import Mark, Taken
from trainer.run_folder import STARTING_KNOBS, LaunchError

LESSONS = Path("experience")
"""Where a meta-agent may write, beside a run's own folders."""


def usable(folder: Path, runs: Path) -> Path:
    """Return a folder that a new run may watch, links followed.

    Args:
        folder: As a person named it.
        runs: Folder that holds the runs.

    Raises:
        LaunchError: if it cannot be watched.
    """
    found = folder.resolve()
    if not found.is_dir():
        raise LaunchError(
            f"--knobs {folder}: no such folder; make one with the four knob files, as by "
            f"`cp -r {STARTING_KNOBS} {folder}`"
        )
    if not str(found).isprintable():
        raise LaunchError(f"--knobs {str(found)!a}: a record cannot hold that name; choose another")
    lessons = os.environ.get("EAU_EXPERIENCE") or LESSONS
    for owned in (runs.resolve(), Path(lessons).resolve()):
        if found.is_relative_to(owned):
            raise _not_ours(folder, owned)
    for parent in (found, *found.parents):
        if (parent / "run.yaml").is_file():
            raise _not_ours(folder, parent)
    if not os.access(found, os.W_OK | os.X_OK):
        raise LaunchError(
            f"--knobs {folder}: it cannot be written, and what the gate applies or takes back is "
            f"written there; allow it, or begin with a copy: --starting-knobs {folder}"
        )
    holder = watch_mark.holder(found)
    if holder is not None:
        raise _taken(found, holder)
    return found


def differences(
    folder: Path, contents: Mapping[str, bytes], values: Knobs, wanted: Knobs
) -> list[Finding]:
    """Return where a recipe wants other starting values than the files of a watched folder hold.

    Args:
        folder: The folder.
        contents: Its files by name, all valid.
        values: What they hold.
        wanted: The same with the recipe's values over them.
    """
    found: list[Finding] = []
    for change in knobs.diff(values, wanted):
        name = change.path.partition(".")[0]
        parsed = knobs.parse(name, contents[name], worlds=values.values[name][knobs.WORLDS])
        place = parsed.positions.get(change.path)
        found.append(
            Finding(
                "launch.recipe_differs",
                Severity.ERROR,
                f"{change.path} is {change.old} in this file, and the recipe begins with "
                f"{change.new}.",
                "A run takes its values from the folder that it watches: write the recipe's into "
                "the file, or let the files count with --set knobs={}.",
                file=str(folder / f"{name}.yaml"),
                line=place.line if place else None,
                column=place.column if place else None,
                path=change.path,
            )
        )
    return found


def of_run(paths: RunPaths) -> Path | None:
    """Return the folder that a run on file watches in place of its own; None for its own.

    Raises:
        LaunchError: if its link leads where the launch did not lead it.
    """
    try:
        return watched.elsewhere(paths)
    except OutsideRoot as error:
        raise LaunchError(str(error)) from error


def shown(path: Path) -> str:
    """Return a path, links followed, as it is named from here if it lies below."""
    found, here = path.resolve(), Path.cwd()
    return str(found.relative_to(here) if found.is_relative_to(here) else found)


@contextmanager
def marked(folder: Path | None, root: Path) -> Iterator[Mark | None]:
    """Mark the folder that a run watches for the length of the block; None where it is its own.

    A folder that cannot be marked now, as one that is gone, is marked when it can (`Notices`).

    Args:
        folder: The folder.
        root: The run's own folder.

    Raises:
        LaunchError: if another live run watches it.
    """
    if folder is None:
        yield None
        return
    mark = Mark(folder, root)
    try:
        mark.take()
    except Taken as taken:
        raise _taken(folder, taken.holder) from taken
    except OSError:
        pass
    try:
        yield mark
    finally:
        mark.release()


class Notices:
    """What a person is told about knob folders at a step boundary, beside what the gate tells."""

    def __init__(
        self, paths: RunPaths, mark: Mark | None, *, starting: Path = STARTING_KNOBS
    ) -> None:
        """Remember the starting set as it is now.

        Args:
            paths: The run.
            mark: That of the folder that it watches; None if it watches its own.
            starting: Folder of the starting set for new runs; it need not exist.
        """
        self._paths = paths
        self._mark = mark
        self._files = {name: starting / f"{name}.yaml" for name in knobs.FILES}
        self._seen = {name: _signature(path) for name, path in self._files.items()}
        self._known = {name: _digest(path) for name, path in self._files.items()}

    def __call__(self) -> list[str]:
        """Return what is new since the last step, a sentence each; costs a look at four files."""
        return [*self._of_the_mark(), *self._of_the_starting_set()]

    def _of_the_mark(self) -> Iterator[str]:
        if self._mark is None:
            return
        try:
            self._mark.take()
        except Taken as taken:
            yield f"{taken} too: its edits count here and ours there; stop one of the two runs"
        except FileNotFoundError:
            pass  # the guard tells that the folder is gone
        except OSError as error:
            yield (
                f"{self._mark.folder} cannot be marked as this run's ({error.strerror}): see to it "
                "that no other run watches it"
            )

    def _of_the_starting_set(self) -> Iterator[str]:
        edited: list[Path] = []
        for name, path in self._files.items():
            signature = _signature(path)
            if signature == self._seen[name]:
                continue
            self._seen[name] = signature
            digest = _digest(path)
            if digest != self._known[name]:
                self._known[name] = digest
                edited.append(path)
        live = self._paths.knobs.resolve()
        if not edited or edited[0].parent.resolve() == live:
            return
        told = ", ".join(map(str, edited))
        if len(edited) == 1:
            yield (
                f"{told} is of the starting set for new runs; this run's live file is "
                f"{shown(live / edited[0].name)}"
            )
        else:
            yield (
                f"{told} are of the starting set for new runs; this run's live files are in "
                f"{shown(live)}/"
            )


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _digest(path: Path) -> str | None:
    try:
        return files.content_digest(path.read_bytes()) if path.is_file() else None
    except OSError:
        return None


def _not_ours(folder: Path, owner: Path) -> LaunchError:
    return LaunchError(
        f"--knobs {folder} lies in {owner}, where runs or a meta-agent write; watch a folder "
        f"elsewhere, or begin with a copy: --starting-knobs {folder}"
    )


def _taken(folder: Path, holder: watch_mark.Holder) -> LaunchError:
    return LaunchError(
        f"{folder} is watched by {holder}, and two live runs cannot share a folder: stop that one "
        "first, or watch a copy of the folder"
    )
