"""The trackers that there are: what each is installed by, opened by, and looked at with.

Only the package of the one that is opened is ever imported, by its constructor.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from trainer.errors import Unusable
from trainer.tracking import tensorboard, trackio, wandb
from trainer.tracking.tracker import About, Kind, Tracker

INSTALL = ".venv/bin/pip install -e '.[track]'"


class Backend(NamedTuple):
    """One kind of tracker."""

    package: str
    open: Callable[[About, Path, int], Tracker]
    """Opens it, given the run, a folder and the last step that is known to be written."""
    look: Callable[[Path, Mapping[str, str]], str]
    """Tells where to look, given that folder and the environment."""


BACKENDS: Mapping[Kind, Backend] = MappingProxyType(
    {
        Kind.TENSORBOARD: Backend("tensorboard", tensorboard.TensorBoard, tensorboard.look),
        Kind.TRACKIO: Backend("trackio", trackio.Trackio, trackio.look),
        Kind.WANDB: Backend("wandb", wandb.Wandb, wandb.look),
    }
)


def require(kind: Kind | None) -> None:
    """Make sure that a tracker can be opened here, without loading it.

    Raises:
        Unusable: if its package is not installed.
    """
    if kind is not None and not is_installed(kind):
        raise Unusable(
            f"{BACKENDS[kind].package} is not installed, so no run can be followed into it: "
            f"{INSTALL}, name another tracker, or leave it out"
        )


def is_installed(kind: Kind) -> bool:
    """Return whether a tracker's package is here."""
    found = importlib.util.find_spec(BACKENDS[kind].package)
    # A mere folder of that name is found too, and wandb leaves one where it has run.
    return found is not None and found.origin is not None
