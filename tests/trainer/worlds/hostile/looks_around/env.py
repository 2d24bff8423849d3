"""Its tool tells what it can see of its surroundings."""

import json
import os
import resource
import sys

from trainer.worlds.seam import Opening, StepResult, Verdict


class _World:
    """One episode of it."""

    def start(self):
        return Opening("rules", "hello")

    def act(self, action):
        sight = {
            "environment": dict(os.environ),
            "folder": os.getcwd(),
            "files": os.listdir(),
            "heavy": [name for name in ("torch", "transformers", "numpy") if name in sys.modules],
            "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
            "descriptors": len(os.listdir("/proc/self/fd")),
        }
        with open("note", "w") as file:
            file.write("left behind")
        return StepResult(json.dumps(sight))

    def hear(self, reply):
        return StepResult()

    def verdict(self):
        return Verdict(1.0, 1.0)


def make(task, *, settings, seed):
    """Return the world."""
    return _World()
