"""Stands for every class and function of torchvision: it can be named, and not be used."""

from __future__ import annotations

from typing import Any


class Absent:
    """Something of torchvision; making one says that it is not there."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        raise RuntimeError("this environment holds no torchvision: it serves text alone")


def __getattr__(name: str) -> type[Absent]:
    if name.startswith("__"):
        raise AttributeError(name)
    return Absent
