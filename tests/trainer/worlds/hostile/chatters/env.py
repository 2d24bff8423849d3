"""Its tool prints 64 MiB to both streams and reads its input."""

import sys

from trainer.worlds.seam import Opening, StepResult, Verdict


class _World:
    """One episode of it."""

    def start(self):
        return Opening("rules", "hello")

    def act(self, action):
        for _ in range(64):
            sys.stdout.write("x" * (1 << 20))
            sys.stderr.write("x" * (1 << 20))
        return StepResult(f"{len(sys.stdin.read())} characters of input")

    def hear(self, reply):
        return StepResult()

    def verdict(self):
        return Verdict(1.0, 1.0)


def make(task, *, settings, seed):
    """Return the world."""
    return _World()
