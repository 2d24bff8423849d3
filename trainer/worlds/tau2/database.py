"""A database of one episode: a view of records that all episodes share, copied where written.

The base is read once and never written; an episode owns only what it changed. So a fresh state
costs nothing, and its difference from another state over the same base costs what was touched.
Whoever reads through `root` or `get` must not change what it gets: `edit` hands out what may be
changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.worlds.tau2.values import Change, changes, clone


class Database:
    """The records of one side, agent's or user's, in one episode."""

    def __init__(self, base: Mapping[str, Any]) -> None:
        """Look at a base; nothing is copied yet.

        Args:
            base: Nested maps and lists of JSON values; shared, never written.
        """
        self.base = base
        self.root: Any = base
        """The whole content as it is now; read only."""
        # Containers that are ours alone (`_own`), or with all below them (`_whole`), by id; each is
        # kept beside its id, so that no id is used again.
        self._own: dict[int, Any] = {}
        self._whole: dict[int, Any] = {}

    def get(self, *path: str | int) -> Any:
        """Return the value at a path to be read, None where there is none."""
        node = self.root
        for key in path:
            if isinstance(node, dict):
                node = node.get(key)
            elif isinstance(node, list) and isinstance(key, int) and 0 <= key < len(node):
                node = node[key]
            else:
                return None
        return node

    def edit(self, *path: str | int) -> Any:
        """Return the container at a path as this episode's own, to be changed in place.

        What is put into it must be the caller's own too, never something that `get` returned.

        Raises:
            KeyError: if nothing is there.
        """
        if not path:
            if id(self.root) not in self._whole:
                self.root = self._claim(clone(self.root))
            return self.root
        parent = self._parent(path[:-1])
        child = parent[path[-1]]
        if id(parent) not in self._whole and id(child) not in self._whole:
            child = parent[path[-1]] = self._claim(clone(child))
        return child

    def put(self, value: Any, *path: str | int) -> None:
        """Set the value at a path, whose parent must be there."""
        self._parent(path[:-1])[path[-1]] = value

    def remove(self, *path: str | int) -> None:
        """Take the value at a path away.

        Raises:
            KeyError: if nothing is there.
        """
        del self._parent(path[:-1])[path[-1]]

    def merge(self, content: Mapping[str, Any]) -> None:
        """Lay content over the records: maps are merged, everything else takes the old place."""
        self._merge(content, ())

    def changes(self, other: Database | None = None) -> list[Change]:
        """Return what differs from the base, or else what another state has otherwise."""
        return list(changes(self.base if other is None else other.root, self.root))

    def _merge(self, content: Mapping[str, Any], path: tuple[str, ...]) -> None:
        parent = self._parent(path)
        for key, value in content.items():
            if isinstance(value, Mapping) and isinstance(parent.get(key), dict):
                self._merge(value, (*path, key))
            else:
                parent[key] = clone(value)

    def _claim(self, container: Any) -> Any:
        """Note that a container and all below it belong to this episode."""
        self._whole[id(container)] = container
        return container

    def _parent(self, path: tuple[str | int, ...]) -> Any:
        """The container at a path, with the containers above it, as copies of our own."""
        node = self.root
        whole = id(node) in self._whole
        if not whole and id(node) not in self._own:
            self.root = node = node.copy()
            self._own[id(node)] = node
        for key in path:
            child = node[key]
            whole = whole or id(child) in self._whole
            if whole:
                self._claim(child)
            elif id(child) not in self._own:
                node[key] = child = child.copy()
                self._own[id(child)] = child
            node = child
        return node
