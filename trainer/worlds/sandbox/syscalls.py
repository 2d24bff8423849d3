"""The one fence that holds for every user, root included: which system calls a process may make.

A process that has called `allow_computing_only` can use memory, clocks and the descriptors that
it holds already. It cannot open, read or write a file, start a process or a thread, signal
another, or reach a network: the kernel answers each such call with "not permitted", for good.
What is not listed is refused, so a call that a later kernel adds is refused too.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Mapping

_NAMES = """
    read write close fstat lseek mmap munmap mprotect mremap madvise brk rt_sigaction
    rt_sigprocmask rt_sigreturn restart_syscall sigaltstack futex nanosleep clock_nanosleep
    clock_gettime clock_getres gettimeofday times getrusage sched_yield getrandom uname getcwd
    getpid getppid gettid getuid geteuid getgid getegid pselect6 rseq exit exit_group
""".split()

_X86_64 = (
    0, 1, 3, 5, 8, 9, 11, 10, 25, 28, 12, 13,
    14, 15, 219, 131, 202, 35, 230,
    228, 229, 96, 100, 98, 24, 318, 63, 79,
    39, 110, 186, 102, 107, 104, 108, 270, 334, 60, 231,
)  # fmt: skip
_AARCH64 = (
    63, 64, 57, 80, 62, 222, 215, 226, 216, 233, 214, 134,
    135, 139, 128, 132, 98, 101, 115,
    113, 114, 169, 153, 165, 124, 278, 160, 17,
    172, 173, 178, 174, 175, 176, 177, 72, 293, 93, 94,
)  # fmt: skip

ARCHITECTURES: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "x86_64": (0xC000003E, (*_X86_64, 158)),  # with arch_prctl, which the loader may call
    "aarch64": (0xC00000B7, _AARCH64),
}
"""Machine -> (the kernel's name of its calls' convention, numbers of the calls allowed)."""

_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2

_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET = 0, 4
_ALLOW, _NOT_PERMITTED, _KILL = 0x7FFF0000, 0x00050001, 0x80000000

_libc = ctypes.CDLL(None, use_errno=True)


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("skip_if_true", ctypes.c_ubyte),
        ("skip_if_false", ctypes.c_ubyte),
        ("operand", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("start", ctypes.POINTER(_Instruction)))


def allow_computing_only() -> bool:
    """Bind this process, for good, to the calls that computing needs.

    Returns:
        True when that is so; False where the kernel has no such filter or the machine is not
        one whose calls are known here, in which case nothing has changed.
    """
    if platform.machine() not in ARCHITECTURES:
        return False
    architecture, allowed = ARCHITECTURES[platform.machine()]
    lines = [
        _Instruction(_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        _Instruction(_JUMP_IF_EQUAL, 1, 0, architecture),
        _Instruction(_RETURN, 0, 0, _KILL),
        _Instruction(_LOAD, 0, 0, _NUMBER_OFFSET),
    ]
    for number in allowed:
        lines.append(_Instruction(_JUMP_IF_EQUAL, 0, 1, number))
        lines.append(_Instruction(_RETURN, 0, 0, _ALLOW))
    lines.append(_Instruction(_RETURN, 0, 0, _NOT_PERMITTED))
    program = _Program(len(lines), (_Instruction * len(lines))(*lines))
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0


assert len(_NAMES) == len(_X86_64) == len(_AARCH64), "one number for every name"
