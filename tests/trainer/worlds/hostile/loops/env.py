"""Its tool computes for ever and listens to no signal."""

import signal

from trainer.worlds.seam import Opening, StepResult, Verdict


class _World:
    """One episode of it."""

    def start(self):
        return Opening("rules", "hello")

    def act(self, action):
        for number in range(1, signal.NSIG):
            if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
                signal.signal(number, signal.SIG_IGN)
        while True:
            pass

    def hear(self, reply):
        return StepResult()

    def verdict(self):
        return Verdict(1.0, 1.0)


def make(task, *, settings, seed):
    """Return the world."""
    return _World()
