"""A fence between a world and the network, where the kernel grants one.

A process that has stepped into namespaces of its own sees no network but an idle loopback, and so
does everything it starts. It needs no privilege where user namespaces are allowed; where neither
is to be had, the caller is told and the trainer says so. Files are not fenced: a world can read
and write what the trainer's user can.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


def leave_network() -> bool:
    """Put this single-threaded process and its future children where there is no network.

    Returns:
        True when that is so, False when the kernel refused and the network is still there.
    """
    apart = _CLONE_NEWNET | _CLONE_NEWIPC
    if _libc.unshare(apart) == 0:
        return True
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(apart | _CLONE_NEWUSER) != 0:
        return False
    # Without a map of its own id, a process in a user namespace cannot create files.
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True
