"""Its tool leaves children behind: one in its group, one in a session of its own."""

import os
import time

from trainer.worlds.seam import Opening, StepResult, Verdict


class _World:
    """One episode of it."""

    def start(self):
        return Opening("rules", "hello")

    def act(self, action):
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
            time.sleep(3600)
        return StepResult(str(os.getpid()))

    def hear(self, reply):
        return StepResult()

    def verdict(self):
        return Verdict(1.0, 1.0)


def make(task, *, settings, seed):
    """Return the world."""
    return _World()
