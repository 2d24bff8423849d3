"""Limits on a world's processes, set by the kernel and not by good will.

Everything here is called inside the process that it binds. Linux holds all of them except one:
RLIMIT_NPROC does not bind root, so a world that runs as root can fork. Its forks do not outlive
it all the same (`trainer.worlds.keeper`). Nothing here knows what a world is.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Limits:
    """What one world may use."""

    memory_bytes: int = 1 << 30
    """Growth of address space that loading and one episode may cause together."""
    cpu_s: int = 600
    """Processor seconds of one episode."""
    file_bytes: int = 16 << 20
    """Size of any one file an episode writes."""
    open_files: int = 64
    """File descriptors of one episode."""
    load_s: float = 30.0
    """Seconds from starting a world's process until it can begin episodes."""

    def to_json(self) -> dict[str, float]:
        """Return the limits as plain JSON values; `Limits(**values)` is the inverse."""
        return asdict(self)


def from_json(values: Mapping[str, float]) -> Limits:
    """Build limits from what `Limits.to_json` returned."""
    return Limits(**values)  # pyright: ignore[reportArgumentType]


def die_with_parent(parent: int, *, by: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent ends.

    Args:
        parent: Process id of the parent, as it knows itself. If it has ended already, before the
            kernel was told, this process ends here.
        by: The signal to get.
    """
    _prctl(_PR_SET_PDEATHSIG, by)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def bind_world(limits: Limits) -> None:
    """Bind the process that loads a world, and with it all that it forks."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    # When memory runs out, the kernel should take a world's process and not the trainer.
    Path("/proc/self/oom_score_adj").write_text("1000")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _limit(resource.RLIMIT_AS, pages * resource.getpagesize() + limits.memory_bytes)
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    _limit(resource.RLIMIT_CORE, 0)


def bind_episode(limits: Limits) -> None:
    """Bind the process of one episode, beyond what `bind_world` did."""
    _limit(resource.RLIMIT_CPU, limits.cpu_s)
    _limit(resource.RLIMIT_NOFILE, limits.open_files)
    _limit(resource.RLIMIT_NPROC, 0)


def _limit(which: int, value: int) -> None:
    """Lower one limit for good; a harder limit that is there already stays."""
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")
