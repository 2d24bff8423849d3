"""Bounds: what one session may read and write in a checkout, by where a path really leads.

Links are followed, and a place is known by its mark on the disk as well as by its name, so that
neither a second name nor a mount hides it. Only the standard library is loaded; nothing is known
about clients and their tools.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PERSON = "(A person who works on EAU itself finds the switch in docs/supervisor.md, By hand.)"


class Forbidden(Exception):
    """Something that must not be done; the text is a next step."""


@dataclass(frozen=True)
class Place:
    """The checkout as one session meets it; every path is resolved."""

    root: Path
    runs: Path
    run: Path | None
    """The run that the session is about: `$EAU_RUN`, or else `runs/latest`."""
    experience: Path
    closed: tuple[Path, ...]
    """Evaluation tasks and results, and the history, which holds the tasks as well."""
    told: Path | None
    """Where the client keeps what of this session is too long to tell."""

    @property
    def held(self) -> bool:
        """Whether the kernel holds the fence: nothing can be written, and what is closed is empty.

        A supervised tick and `python -m skill enter` make it so, and then their fence decides.
        """
        tasks = [path for path in self.closed if path.name == "evaluation" and path.is_dir()]
        seen = [path for path in self.closed if path.is_dir()]
        empty = bool(tasks) and not any(os.listdir(path) for path in seen)
        return empty and not os.access(self.root, os.W_OK)


def find(root: Path, environment: Mapping[str, str], call: Mapping[str, Any]) -> Place:
    """Return the place of a call.

    Args:
        root: The checkout.
        environment: Variables that name the run, the lessons and the results of evaluations.
        call: What the client says of it; `transcript_path` names the file of its session.
    """
    root = root.resolve()
    runs = (root / "runs").resolve()
    named = environment.get("EAU_RUN") or "runs/latest"
    meant = [path.resolve() for path in (root / named, runs / named) if path.is_dir()]
    kept = environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    results = [Path(kept, "eau", "evaluations")]
    if environment.get("EAU_EVAL_ROOT"):
        results.append(root / environment["EAU_EVAL_ROOT"])
    tasks = sorted((root / "trainer" / "worlds").glob("*/evaluation"))
    closed = [path.resolve() for path in (*tasks, *results, root / ".git")]
    page = call.get("transcript_path")
    told = Path(page).resolve().with_suffix("") if page else None
    lessons = root / (environment.get("EAU_EXPERIENCE") or "experience")
    return Place(root, runs, next(iter(meant), None), lessons.resolve(), tuple(closed), told)


def path_of(text: Any, cwd: Path) -> Path:
    """Return the file that a tool means, links followed.

    Args:
        text: As the tool is given it. Clients trim, expand and normalize, so only a text is taken
            that nobody would change.
        cwd: Where it is relative to.

    Raises:
        Forbidden: if it might mean more than it says.
    """
    if not isinstance(text, str) or not text.isprintable() or text != text.strip():
        raise Forbidden(f"{text!a} is an unusual path: name the file from the checkout on")
    if text.startswith("~") or "$" in text or "\\" in text:
        raise Forbidden(f"{text!a} is no plain path: name the file from the checkout on")
    if unicodedata.normalize("NFC", text) != text:
        raise Forbidden(f"{text!a} can be spelled in two ways: name a file that cannot")
    return (cwd / text).resolve()


def read(place: Place, path: Path) -> None:
    """Return if a file may be read, or a folder listed.

    Args:
        place: Where.
        path: What, links followed.

    Raises:
        Forbidden: if it is closed, another run's, or outside.
    """
    if place.told is not None and path.is_relative_to(place.told):
        return
    refuse_closed(place, path)
    if place.run is not None and path.is_relative_to(place.run):
        return
    # A run may watch a folder of a person's choice; its live values are no secret.
    if place.run is not None and (place.run / "knobs").resolve() in (path, path.parent):
        return
    if path.is_relative_to(place.runs):
        if path != place.runs and (path.parent != place.runs or path.is_dir()):
            raise Forbidden(another(place))
    elif not path.is_relative_to(place.root):
        raise Forbidden(f"{path} lies outside: read what lies in {place.root}")


def search(place: Place, base: Path) -> None:
    """Return if everything below a folder may be read; raises `Forbidden` as `read` does."""
    read(place, base)
    for path in (*place.closed, place.runs):
        if path.is_relative_to(base):
            raise Forbidden(
                f"a search through {base} would come through {path}: name a smaller folder, as "
                "docs, gate, skill or this run's, or one file"
            )


def write(place: Place, path: Path) -> None:
    """Return if a file may be written.

    Args:
        place: Where.
        path: What, links followed.

    Raises:
        Forbidden: if it is not the meta-agent's own, or was written once and stays.
    """
    run = () if place.run is None else (place.run / "candidate", place.run / "proposals")
    own = (*run, place.experience)
    if not any(path.is_relative_to(folder) and path != folder for folder in own):
        raise Forbidden(
            f"{path} is another's: you write {', '.join(map(str, own))}. To change a knob or a "
            f"world, edit a copy in candidate/ and run propose.py. {PERSON}"
        )
    refuse_closed(place, path)
    written_once = (place.experience / "lessons", *run[1:])
    if path.exists() and any(path.is_relative_to(folder) for folder in written_once):
        raise Forbidden(f"{path.name} was written once and stays: write a new one, --supersedes it")
    if path.is_file() and path.stat().st_nlink > 1:
        raise Forbidden(f"{path} has a second name elsewhere: write a new file beside it")


def refuse_closed(place: Place, path: Path) -> None:
    """Refuse what is closed, by whatever name, mount or second name it is reached."""
    inside = path.relative_to(place.root) if path.is_relative_to(place.root) else path
    named = {part.casefold() for part in inside.parts} & {"evaluation", ".git"}
    marks = set(_marks(place.closed))
    met = marks.intersection(_marks((path, *path.parents)))
    if path.is_file() and path.stat().st_nlink > 1:
        met |= {_mark(path)} & set(
            _marks(file for one in place.closed[:-1] for file in _below(one))
        )
    if named or met or any(path.is_relative_to(one) for one in place.closed):
        raise Forbidden(
            f"{path} is evaluation data, or the history that holds it, which no meta-agent reads: "
            "leave it, and go on with the run's own records"
        )


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _mark(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _marks(paths: Iterable[Path]) -> Iterator[tuple[int, int]]:
    return (_mark(path) for path in paths if path.exists())


def another(place: Place) -> str:
    """Return what to do about a run that is not this session's."""
    if place.run is None:
        return "no run is this session's: start one, or the client with EAU_RUN=runs/NAME"
    return (
        f"this session is about {place.run.name}, and that is another run: status.py, diagnose.py "
        "and episodes.py read it; to steer it, start the client with EAU_RUN=runs/NAME"
    )
