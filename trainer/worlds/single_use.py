"""The order of an episode's calls, kept for any world: it starts once, and before its first move.

Knows nothing about what a world does; `seam.Env` says what its calls are for.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Protocol, TypeVar

from trainer.message import Action
from trainer.worlds.seam import Opening


class _World(Protocol):
    """What of an `Env`, judged or not, this module knows."""

    def start(self) -> Opening: ...

    def act(self, action: Action) -> Any: ...


_AnyWorld = TypeVar("_AnyWorld", bound=_World)

_MARK = "_in_use"
"""Attribute of an instance that has been started."""


def single_use(world: type[_AnyWorld]) -> type[_AnyWorld]:
    """Make a class of worlds refuse a second `start`, and an `act` that comes before the first.

    For use as a decorator. Either is a bug of the caller and raises `RuntimeError`.

    Args:
        world: The class. Its instances must take attributes.

    Returns:
        The same class.
    """
    start, act = world.start, world.act

    @wraps(start)
    def start_once(self: _AnyWorld) -> Opening:
        if hasattr(self, _MARK):
            raise RuntimeError("this world was started already; make a new one for each episode")
        setattr(self, _MARK, True)
        return start(self)

    @wraps(act)
    def act_when_started(self: _AnyWorld, action: Action) -> Any:
        if not hasattr(self, _MARK):
            raise RuntimeError("start() comes first")
        return act(self, action)

    world.start, world.act = start_once, act_when_started
    return world
