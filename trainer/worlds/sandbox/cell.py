"""The cell: the process in which a program runs, and the last trusted lines before it does.

It gives up everything first: descriptors, environment, privileges, and all system calls but
those of computing. Then it runs the source and reports every call over one pipe. Whoever reads
the pipe must believe only the first report, which was written before the program ran.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import os
import random
import resource
import struct
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from trainer.worlds import limits
from trainer.worlds.sandbox import syscalls, values
from trainer.worlds.sandbox.program import Bounds, Namespace, Outcome, Program

REPORT = struct.Struct(">iBI")
"""Index of the call, outcome, bytes of text that follow."""
HELD, READY = -2, -1
"""Indices of what is reported before the first call: the fence, and that the source has run."""
OUTCOMES = tuple(Outcome)
MODULE_NAME = "solution"
NOBODY = 65_534
"""User and group that a cell of root's becomes."""

_PIPE = 3


def live(program: Program, start: int, pipe: int, home: str, supervisor: int) -> None:
    """Run a program from one of its calls on; never returns into the caller's code.

    Args:
        program: What to run.
        start: Index of the first call to make.
        pipe: Descriptor that takes the reports.
        home: An empty folder to be in.
        supervisor: Process id of the parent.
    """
    try:
        os.setsid()
        _keep_only(pipe)
        os.chdir(home)
        os.environ.clear()
        _bind(program.bounds)
        # A change of user takes this back, so it comes after.
        limits.die_with_parent(supervisor)
        sandboxed = syscalls.allow_computing_only()
        _report(HELD, Outcome.VALUE if sandboxed else Outcome.RAISED, "")
        if sandboxed or not program.refuse_unsandboxed:
            _run(program, start)
    finally:
        os._exit(0)


def _keep_only(pipe: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    if pipe != _PIPE:
        os.dup2(pipe, _PIPE)
    os.closerange(_PIPE + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _bind(bounds: Bounds) -> None:
    """Lower every limit, and stop being root where that is possible."""
    with open("/proc/self/statm", encoding="ascii") as file:
        memory = int(file.read().split()[0]) * resource.getpagesize() + bounds.memory_bytes
    for which, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, int(bounds.total_s) + 2),
        (resource.RLIMIT_FSIZE, bounds.file_bytes),
        (resource.RLIMIT_NOFILE, 16),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
    if os.geteuid() == 0:
        # In a user namespace without this id there is nobody to become; the fence holds root too.
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)


def _run(program: Program, start: int) -> None:
    random.seed(0)
    gc.disable()
    run_source = _fresh if program.namespace is Namespace.FRESH else _strict
    try:
        evaluate = run_source(program.source)
    except BaseException as error:
        _report(READY, Outcome.RAISED, type(error).__name__)
        return
    _report(READY, Outcome.VALUE, "")
    for index in range(start, len(program.calls)):
        _report(index, *_outcome(evaluate, program.calls[index]))


def _fresh(source: str) -> Callable[[str], Any]:
    """Run the source as a module; return what evaluates a call in it."""
    module = ModuleType(MODULE_NAME)
    sys.modules[MODULE_NAME] = module
    names = module.__dict__
    names["__builtins__"] = builtins
    exec(_compiled(source), names)  # noqa: S102 - this is the cell that exists for it
    return lambda call: eval(call, names)  # noqa: S307


def _strict(source: str) -> Callable[[str], Any]:
    """Return what runs the source and evaluates a call as inside one function's frame."""
    code = _compiled(source)

    def evaluate(call: str) -> Any:
        outer = {"__name__": MODULE_NAME, "__builtins__": builtins}
        inner: dict[str, Any] = {}
        exec(code, outer, inner)  # noqa: S102
        return eval(call, outer, inner)  # noqa: S307

    return evaluate


def _compiled(source: str) -> CodeType:
    return compile(source, f"<{MODULE_NAME}>", "exec", dont_inherit=True)


def _outcome(evaluate: Callable[[str], Any], call: str) -> tuple[Outcome, str]:
    try:
        value = evaluate(call)
    except BaseException as error:
        return Outcome.RAISED, type(error).__name__
    try:
        return Outcome.VALUE, values.encode(value)
    except BaseException as error:
        return Outcome.UNREADABLE, type(error).__name__


def _report(index: int, outcome: Outcome, text: str) -> None:
    content = text.encode("ascii", "replace")
    report = REPORT.pack(index, OUTCOMES.index(outcome), len(content)) + content
    while report:
        report = report[os.write(_PIPE, report) :]
