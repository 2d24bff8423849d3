"""What the tests of the sandbox share: a sound program, short bounds, and the worst attack."""

from __future__ import annotations

from pathlib import Path

from trainer.worlds.sandbox.client import Sandbox
from trainer.worlds.sandbox.program import Bounds, CallResult, Program

CHECKOUT = Path(__file__).parents[4]
SHORT = Bounds(call_s=0.3, wait_s=0.6, total_s=4.0)
SOUND = Program("def f(x):\n    return x + 1", ("f(1)",))

FORK_BOMB = """
import os, threading
def f():
    while True:
        os.fork()
def g():
    threading.Thread(target=f).start()
def h():
    try:
        return os.fork()
    except OSError as error:
        return error.errno
"""


def run(sandbox: Sandbox, source: str, *calls: str, bounds: Bounds = SHORT) -> list[CallResult]:
    """The results of a program that ran inside the fence."""
    evaluation = sandbox.evaluate(Program(source, calls, bounds=bounds))
    assert evaluation.sandboxed
    return list(evaluation.results)
