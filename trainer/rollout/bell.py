"""A bell: wakes the one who waits, from any thread, and whoever else it listens to.

What has happened is not said by the ring; the woken looks for himself.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Mapping
from typing import Self


class Bell:
    """Rung by many, waited for by one; rings before a wait are not lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._closed = False

    def ring(self) -> None:
        """Wake the one who waits; after the end of it all, nobody."""
        # The number of a closed descriptor may be somebody else's by now.
        with self._lock:
            if not self._closed:
                os.eventfd_write(self._descriptor, 1)

    def wait(self, descriptors: Mapping[int, int], seconds: float) -> None:
        """Return when it was rung, a descriptor is ready, or time is up.

        Args:
            descriptors: File descriptors to listen to, each with the events of `select.poll`.
            seconds: The longest wait.
        """
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        for descriptor, events in descriptors.items():
            poller.register(descriptor, events)
        ready = poller.poll(max(0.0, seconds) * 1000)
        if any(descriptor == self._descriptor for descriptor, _ in ready):
            os.eventfd_read(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            os.close(self._descriptor)
