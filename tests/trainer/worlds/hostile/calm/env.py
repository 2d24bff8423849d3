"""A world with no fault: it counts, and its verifier is a file of its own."""

from trainer.worlds.seam import Opening, StepResult

from . import verifier  # noqa: TID252


class _World:
    """Echoes what it is told, with a number."""

    def __init__(self, task, settings, seed):
        self.task, self.settings, self.seed, self.moves = task, settings, seed, 0

    def start(self):
        return Opening(f"{self.settings.get('rules', 'none')} {self.seed}", self.task.opening)

    def act(self, action):
        self.moves += 1
        observation = f"{self.moves} {action.choice} {action.content}"
        return StepResult(observation, say=action.content, events=("moved",), reward=0.5)

    def hear(self, reply):
        return StepResult(withdrawn=reply.revealed, events=("ended",) if reply.ends else ())

    def verdict(self):
        return verifier.judge(self.moves)


def make(task, *, settings, seed):
    """Return the world."""
    return _World(task, settings, seed)
