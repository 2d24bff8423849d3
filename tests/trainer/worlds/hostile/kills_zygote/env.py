"""Its tool kills the process that forked it."""

import os
import signal
import time

from trainer.worlds.seam import Opening, StepResult, Verdict


class _World:
    """One episode of it."""

    def start(self):
        return Opening("rules", "hello")

    def act(self, action):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(3600)
        return StepResult()

    def hear(self, reply):
        return StepResult()

    def verdict(self):
        return Verdict(1.0, 1.0)


def make(task, *, settings, seed):
    """Return the world."""
    return _World()
