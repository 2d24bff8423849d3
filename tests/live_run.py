"""A launched run in a temporary directory, and edits of its knob files as an editor makes them."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from gate.contract import files, knobs, revisions
from gate.contract.ledger import Author
from gate.contract.paths import RunPaths

WORLDS = ("travel", "intention")


_STARTING_FILES = {f"knobs/{name}.yaml": knobs.render_defaults(name) for name in knobs.FILES}
_DEFAULTS = knobs.defaults()


def starting_files() -> dict[str, bytes]:
    """Return the four knob files with every knob at its default, by path within a run."""
    return dict(_STARTING_FILES)


def launch(root: Path) -> RunPaths:
    """Make a run whose knobs are the defaults."""
    run = RunPaths(root)
    root.mkdir(parents=True, exist_ok=True)
    for world in WORLDS:
        (run.world / "0000" / world).mkdir(parents=True)
    revisions.launch(
        run, starting_files(), _DEFAULTS, author=Author.PERSON, reason="a test", now=0.0
    )
    return run


def launch_watching(root: Path, folder: Path) -> RunPaths:
    """Make a run that watches a folder of its own files, with every knob at its default."""
    run = RunPaths(root)
    folder.mkdir(parents=True, exist_ok=True)
    for world in WORLDS:
        (run.world / "0000" / world).mkdir(parents=True)
    for name in knobs.FILES:
        (folder / f"{name}.yaml").write_bytes(_STARTING_FILES[f"knobs/{name}.yaml"])
    run.launch.write_text(f"run: {root.name}\nparent: null\nattempt: 1\nknobs: {folder}\n")
    run.knobs.symlink_to(folder)
    digests = {path: files.content_digest(data) for path, data in _STARTING_FILES.items()}
    revisions.launch(
        run, {}, _DEFAULTS, author=Author.PERSON, reason="a test", now=0.0, in_place=digests
    )
    return run


def move_knobs(run: RunPaths, folder: Path) -> None:
    """Let a run on file watch a folder, as if it had been launched so: its files go there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in knobs.FILES:
        run.knob_file(name).replace(folder / f"{name}.yaml")
    run.knobs.rmdir()
    run.knobs.symlink_to(folder)
    lines = run.launch.read_text().splitlines()
    kept = [line for line in lines if line != "knobs: null"]
    run.launch.write_text("\n".join([*kept, f"knobs: {folder}", ""]))


def with_value(content: bytes, key: str, value: object) -> bytes:
    """Return a knob file's bytes with another value for one of its top-level keys."""
    lines = content.decode().splitlines()
    found = [number for number, line in enumerate(lines) if line.startswith(f"{key}:")]
    assert len(found) == 1, f"{key} should stand there once"
    lines[found[0]] = f"{key}: {json.dumps(value)}"
    return ("\n".join(lines) + "\n").encode()


def save(run: RunPaths, path: str, value: object) -> bytes:
    """Change one knob in its file, in place, as an editor does; returns the file's new bytes."""
    name, _, key = path.partition(".")
    file = run.knob_file(name)
    content = with_value(file.read_bytes(), key, value)
    file.write_bytes(content)
    return content


def log_success(run: RunPaths, success: float | None, *, steps: int) -> None:
    """Append step records with the part that the gate reads."""
    done = len(files.read_lines(run.steps).records)
    for step in range(done + 1, done + steps + 1):
        files.append_line(run.steps, {"step": step, "success": success, "anchor_success": success})


@contextlib.contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file of this process grow past a size: a full disk for one process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def locked_elsewhere(run: RunPaths) -> Iterator[int]:
    """Let another process hold a run's lock; gives its process id."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(
        target=_hold_the_lock, args=(run.root, theirs)
    )
    child.start()
    # Ours alone may keep the other end open: a child that fails must end the wait for its word.
    theirs.close()
    try:
        assert ours.poll(60), "the child never held the lock"
        yield ours.recv()
    finally:
        ours.close()
        child.join()


def _hold_the_lock(root: Path, conversation: Connection) -> None:
    with files.run_lock(root, purpose="a long edit"):
        conversation.send(os.getpid())
        with contextlib.suppress(EOFError):
            conversation.recv()
        os._exit(0)
