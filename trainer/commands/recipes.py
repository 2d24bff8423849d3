"""`eau recipes`: the names that `eau train` takes."""

from __future__ import annotations

from trainer import recipe_file


def command() -> None:
    """List the built-in recipes."""
    for name in recipe_file.names():
        print(name)
