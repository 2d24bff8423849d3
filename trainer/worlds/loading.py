"""Loading a world's code from a folder, wherever the folder stands.

A world may be built in or a numbered revision in a run directory, so it is imported by path
under a package name of its own, and its files reach each other by relative imports (`from .
import verifier`). Two loads never share a module. This module runs the code it loads: untrusted
worlds are loaded only in a process of their own (`trainer.worlds.zygote`).
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from trainer.worlds.declaration import DECLARATION_FILE, read_declaration

ENTRY_FILE = "env.py"
VERIFIER = "verifier"
"""The module of a world that judges dialogues."""

_serial = itertools.count()


class WorldLoadError(Exception):
    """A world whose code cannot be used; the message is one line with the cause."""


def load_world(folder: Path) -> ModuleType:
    """Return the module made from `env.py` of a world's folder, which has a function `make`.

    Raises:
        WorldLoadError: if the file is missing or lies outside the folder, if running it raises,
            or if it has no function `make`.
    """
    root = folder.resolve()
    entry = root / ENTRY_FILE
    if not entry.is_file() or not entry.resolve().is_relative_to(root):
        raise WorldLoadError(f"{root}: no {ENTRY_FILE} inside it; a world needs one with `make`")
    package = _package(root)
    cached = sys.dont_write_bytecode
    # Cached bytecode is told from new code by second and size, which two quick edits can share.
    sys.dont_write_bytecode = True
    try:
        module = importlib.import_module(f"{package}.{entry.stem}")
    except (Exception, SystemExit) as error:
        forget(package)
        raise WorldLoadError(last_line(error, root)) from error
    finally:
        sys.dont_write_bytecode = cached
    if not callable(getattr(module, "make", None)):
        forget(package)
        raise WorldLoadError(f"{entry}: no function `make(task, *, settings, seed)`; define it")
    return module


def verifier_of(world: ModuleType) -> ModuleType:
    """Return the module made from `verifier.py` of a loaded world; `env.py` need not name it.

    Args:
        world: What `load_world` returned.

    Raises:
        ImportError: if the world has none; any other error that running it raises.
    """
    return importlib.import_module(f"{world.__package__}.{VERIFIER}")


@cache
def declared_settings(folder: Path) -> Mapping[str, Any]:
    """Return what a world's `world.yaml` gives to `make`: its settings, and its own knobs.

    A world without that file declares nothing.

    Raises:
        DeclarationError: if the file cannot be used.
    """
    if not (folder / DECLARATION_FILE).is_file():
        return {}
    declared = read_declaration(folder)
    knobs = declared.knobs.items()
    defaults = {name: schema["default"] for name, schema in knobs if "default" in schema}
    return {**declared.settings, **defaults}


def forget(package: str) -> None:
    """Remove a loaded package and its modules from the table of imported ones."""
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]


def last_line(error: BaseException, folder: Path) -> str:
    """Return the last line of a traceback, with the last place in `folder` that led to it."""
    text = traceback.format_exception_only(error)[-1].strip()
    places = [
        f"{Path(frame.filename).name}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(folder)
    ]
    return f"{text} ({places[-1]})" if places else text


def _package(root: Path) -> str:
    """Enter an empty package over `root` into the table of imported ones; return its name."""
    name = f"eau_world_{next(_serial)}"
    package = ModuleType(name, f"The world in {root}.")
    package.__path__ = [str(root)]
    package.__spec__ = importlib.util.spec_from_loader(name, loader=None, is_package=True)
    sys.modules[name] = package
    # A folder written a moment ago may be missing from the import system's cached listing.
    importlib.invalidate_caches()
    return name
