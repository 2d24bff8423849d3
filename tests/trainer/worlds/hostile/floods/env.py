"""Its tool answers with 64 MiB."""

from trainer.worlds.seam import Opening, StepResult, Verdict


class _World:
    """One episode of it."""

    def start(self):
        return Opening("rules", "hello")

    def act(self, action):
        return StepResult("x" * (64 << 20))

    def hear(self, reply):
        return StepResult()

    def verdict(self):
        return Verdict(1.0, 1.0)


def make(task, *, settings, seed):
    """Return the world."""
    return _World()
