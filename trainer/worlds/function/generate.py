"""Makes our own function tasks from a seed: every value is computed, none is typed.

Run `python -m trainer.worlds.function.generate` to write the two files anew; a test holds that
they are what this module makes. Nothing here plays a task.
"""

from __future__ import annotations

import random

from trainer.worlds import task_files
from trainer.worlds.function.formula import Undefined, evaluate
from trainer.worlds.function.loader import BUILT_IN

SEED = 20
NUM_TRAIN = 40
NUM_EVALUATION = 12
CANARY = "EAU-EVALUATION-6a1f83d2-function"

SHAPES = (
    "{p} + {q} - {r} + {s}",
    "{p} * {q} + {r} - {s}",
    "({p} + {q}) * ({r} - {s})",
    "({p} + {q} * {r}) + {s}",
    "{p} / {q} + {r} * {s}",
    "{p} * {p} + {q} * {r} - {s}",
    "({p} - {q}) * {r} + {s} * {s}",
    "{p} + {q} / {r} - {s}",
)
_PLACES = 9


def records() -> list[dict[str, object]]:
    """Return every task record, training first; no rule occurs twice."""
    rng = random.Random(SEED)
    made: dict[str, dict[str, object]] = {}
    while len(made) < NUM_TRAIN + NUM_EVALUATION:
        p, q, r, s = rng.sample("abcd", 4)
        rule = SHAPES[len(made) % len(SHAPES)].format(p=p, q=q, r=r, s=s)
        numbers = [rng.randint(2, 10) for _ in range(4)]
        try:
            value = evaluate(rule, numbers)
        except Undefined:
            continue
        # A value that four decimals cannot hold could not be answered from what is shown.
        if rule not in made and round(value, 4) == round(value, _PLACES):
            name = f"function-{len(made) + 1}"
            made[rule] = {"id": name, "rule": rule, "test_case": numbers, "expected_result": value}
    return list(made.values())


def texts() -> dict[str, str]:
    """Return the text of each split's file."""
    return task_files.texts(records(), NUM_TRAIN, CANARY)


def main() -> None:
    """Write both files."""
    for split, text in texts().items():
        BUILT_IN[split].write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
