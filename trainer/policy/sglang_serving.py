"""What rank 0 hands on of its servers: where they are, and which weights they serve.

A plain value that travels with the order to play. It also says by what rule a dialogue finds its
server, which is one for all processes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

Server = TypeVar("Server")


class Serving(NamedTuple):
    """The servers that write the turns of a step."""

    urls: tuple[str, ...]
    """Those that answered last, such as `http://127.0.0.1:30000`."""
    stamp: str
    """Weight version that must have written every token."""
    policy_version: int
    """The learner's count of updates behind that stamp."""


def home(dialogue: str, servers: Sequence[Server]) -> Server:
    """Return the server that writes a dialogue: the same one as long as the servers are the same.

    Args:
        dialogue: Key of the dialogue.
        servers: Those that are up, at least one.
    """
    return servers[zlib.crc32(dialogue.encode("utf-8", "replace")) % len(servers)]
