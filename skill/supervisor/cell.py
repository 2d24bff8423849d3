"""A cell of namespaces: everything read-only but a few folders, some folders empty, no way back.

`python cell.py PLAN -- COMMAND` enters it and runs a command there; PLAN is JSON with `writable`
(pairs of source and target), `hidden` and `network`. It is what bubblewrap does, for machines
without it. All processes of the command end with it, also those that left its group. Only the
standard library is loaded, and nothing is known about runs. Exit status 126 says that no cell was
to be had.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

NO_CELL = 126

_NEWNS, _NEWUSER, _NEWPID, _NEWNET, _NEWIPC = (
    0x20000, 0x10000000, 0x20000000, 0x40000000, 0x08000000,
)  # fmt: skip
_BIND, _REC, _PRIVATE, _NOSUID, _NODEV, _NOEXEC, _RDONLY = (
    0x1000, 0x4000, 0x40000, 2, 4, 8, 1,
)  # fmt: skip
_MOUNT_SETATTR = 442  # the same number on every architecture
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID = 1, 2
_PDEATHSIG, _CAPBSET_DROP, _NO_NEW_PRIVS, _CAP_AMBIENT = 1, 24, 38, 47
_CAPABILITY_VERSION, _MOST_CAPABILITIES = 0x20080522, 64


class NoCell(OSError):
    """The kernel or the container allows no such cell; names the call that failed."""


class _MountAttr(ctypes.Structure):
    _fields_ = [
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    ]


def main(words: Sequence[str]) -> NoReturn:
    """Enter a cell and run a command in it; ends with the command's status.

    Args:
        words: The plan as JSON, `--`, and the command.
    """
    plan, command = json.loads(words[0]), list(words[2:])
    _die_with_parent()
    try:
        _unshare(network=bool(plan.get("network", True)))
    except OSError as error:
        _refuse(error)
    child = os.fork()
    if child == 0:
        _first(plan, command)
    _, status = os.waitpid(child, 0)
    os._exit(_code(status))


def _first(plan: Mapping[str, Any], command: Sequence[str]) -> NoReturn:
    """Be the first process of the cell: when it ends, the kernel ends every other one."""
    try:
        _die_with_parent()
        _furnish(plan)
        _give_up_powers()
    except OSError as error:
        _refuse(error)
    child = os.fork()
    if child == 0:
        try:
            os.execvp(command[0], list(command))
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
            os._exit(127)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    while True:
        ended, status = os.wait()  # orphans of the cell come here too
        if ended == child:
            os._exit(_code(status))


def _unshare(*, network: bool) -> None:
    apart = _NEWNS | _NEWPID | _NEWIPC | (0 if network else _NEWNET)
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(apart) == 0:
        return
    _call("unshare", _libc.unshare(apart | _NEWUSER))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _furnish(plan: Mapping[str, Any]) -> None:
    """Make everything read-only, then open and empty what the plan names."""
    _mount(None, "/", None, _REC | _PRIVATE)
    _attributes("/", _ATTR_RDONLY | _ATTR_NOSUID, 0, recursive=True)
    # A process list of its own; where the container forbids it, others are seen but out of reach.
    _libc.mount(b"proc", b"/proc", b"proc", _NOSUID | _NODEV | _NOEXEC, None)
    for source, target in plan.get("writable", ()):
        _mount(source, target, None, _BIND)
        _attributes(target, _ATTR_NOSUID, _ATTR_RDONLY, recursive=False)
    for folder in plan.get("hidden", ()):
        if os.path.isdir(folder):
            _mount("none", folder, "tmpfs", _NOSUID | _NODEV | _RDONLY, "size=4k,mode=0555")
    # The working directory was reached before: come in again through the new mounts.
    os.chdir(os.getcwd())


def _give_up_powers() -> None:
    """Leave no capability, and no way to get one: what is mounted stays."""
    for capability in range(_MOST_CAPABILITIES):
        _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_CAP_AMBIENT, 4, 0, 0, 0)
    _call("no_new_privs", _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _call("capset", _libc.capset(header, (ctypes.c_uint32 * 6)()))


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    _call(f"mount {target}", _libc.mount(*encoded, flags, data.encode() or None))


def _attributes(target: str, add: int, clear: int, *, recursive: bool) -> None:
    attributes = _MountAttr(add, clear, 0, 0)
    done = _libc.syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        ctypes.c_char_p(os.fsencode(target)),
        ctypes.c_uint(_AT_RECURSIVE if recursive else 0),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _call(f"mount_setattr {target}", done)


def _die_with_parent() -> None:
    parent = os.getppid()
    _libc.prctl(_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    # The first process of a cell has parent 0 from the start.
    if parent != os.getppid():
        os._exit(NO_CELL)


def _call(name: str, result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise NoCell(number, f"{name}: {os.strerror(number)}")


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _refuse(error: OSError) -> NoReturn:
    print(f"no cell: {error.strerror or error}", file=sys.stderr, flush=True)
    os._exit(NO_CELL)


_libc = ctypes.CDLL(None, use_errno=True) if platform.system() == "Linux" else ctypes.CDLL(None)

if __name__ == "__main__":
    main(sys.argv[1:])
