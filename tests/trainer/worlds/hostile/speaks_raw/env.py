"""Its tool writes bytes of its own on the trainer's socket, then sleeps."""

import os
import stat
import time

from trainer.worlds.seam import Opening, StepResult, Verdict


def own_socket():
    """The number of the only socket there is."""
    for number in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                return number
        except OSError:
            continue
    raise LookupError("no socket")


class _World:
    """One episode of it."""

    def start(self):
        return Opening("rules", "hello")

    def act(self, action):
        os.write(own_socket(), bytes.fromhex(action.content))
        time.sleep(3600)
        return StepResult()

    def hear(self, reply):
        return StepResult()

    def verdict(self):
        return Verdict(1.0, 1.0)


def make(task, *, settings, seed):
    """Return the world."""
    return _World()
