"""Looking at a knob file without parsing it, without waiting and without any doubt.

The bytes themselves are compared, not times, sizes or events: a swapped link, a rewritten file
of the same age and size and a lost notification all come out right. A pipe or a device in the
place of a file is never waited for. Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

from gate.contract import knobs

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BLOCK = 1 << 16


class Trouble(NamedTuple):
    """Why a file could not be read; equal troubles are one trouble that lasts."""

    number: int
    """The error's `errno`."""
    reason: str

    @property
    def error(self) -> OSError:
        """The error again, as the class that Python has for it."""
        return OSError(self.number, self.reason)


def look(path: str) -> bytes | Trouble:
    """Return a file's bytes, links followed, or why they cannot be had.

    Of a file larger than any knob file only so much is read that its size is beyond doubt.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        return Trouble(error.errno or 0, error.strerror or str(error))
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            if stat.S_ISDIR(found.st_mode):
                return Trouble(errno.EISDIR, os.strerror(errno.EISDIR))
            return Trouble(errno.EINVAL, "it is a pipe or a device")
        content = os.read(descriptor, _BLOCK)
        while len(content) <= knobs.LARGEST and (more := _rest(descriptor, content, found)):
            content += more
        return content
    except OSError as error:
        return Trouble(error.errno or 0, error.strerror or str(error))
    finally:
        os.close(descriptor)


def _rest(descriptor: int, content: bytes, found: os.stat_result) -> bytes:
    # All bytes that were there a moment ago: asking for more would double the cost of looking.
    return b"" if len(content) == found.st_size else os.read(descriptor, _BLOCK)
