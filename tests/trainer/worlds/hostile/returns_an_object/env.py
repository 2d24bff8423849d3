"""Its tool returns what no JSON can carry."""

from trainer.worlds.seam import Opening, StepResult, Verdict


class _World:
    """One episode of it."""

    def start(self):
        return Opening("rules", "hello")

    def act(self, action):
        return StepResult(observation=object())  # pyright: ignore[reportArgumentType]

    def hear(self, reply):
        return StepResult()

    def verdict(self):
        return Verdict(1.0, 1.0)


def make(task, *, settings, seed):
    """Return the world."""
    return _World()
