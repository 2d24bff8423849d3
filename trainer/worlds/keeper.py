"""The keeper of a world's processes: it ends with the trainer, and everything else with it.

The trainer starts one keeper per world; the keeper forks the zygote (`trainer.worlds.zygote`),
which forks the episodes. No world's code ever runs in the keeper, so it stays able to act: it
adopts every process whose parent has ended, ends it, and when the trainer or the zygote goes
away, by whatever signal, it ends the whole family and removes its scratch folder. Only a world
that kills its keeper on purpose can leave a process behind.

    python -m trainer.worlds.keeper FOLDER SCRATCH CONTROL LIFELINE TRAINER_PID LIMITS
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from types import FrameType

from trainer.worlds import fence, limits, processes, zygote

SWEEP_S = 0.5
"""How long a process that outlived its episode may live."""

_FAMILY_END_S = 5.0


def main(arguments: list[str]) -> int:
    """Keep one world's processes until the trainer goes away or the zygote ends.

    Returns:
        0 when no process of the world is left, 1 when one could not be ended.
    """
    folder, scratch, control_fd, lifeline_fd, trainer, bounds = arguments
    _watch_trainer(int(trainer))
    try:
        limits.adopt_orphans()
        with (
            socket.socket(fileno=int(control_fd)) as control,
            socket.socket(fileno=int(lifeline_fd)) as lifeline,
        ):
            fenced = fence.leave_network()
            parent = os.getpid()
            child = os.fork()
            if child == 0:
                try:
                    lifeline.close()
                    zygote.ignore_terminal()
                    limits.die_with_parent(parent)
                    bound = limits.from_json(json.loads(bounds))
                    zygote.run(control, Path(folder), Path(scratch), bound)
                finally:
                    os._exit(0)
            control.close()
            lifeline.send(json.dumps({"zygote": child, "fenced": fenced}).encode())
            _keep(child, lifeline)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        left = _end_family()
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if left else 0


def _watch_trainer(trainer: int) -> None:
    """End in good order when the trainer does, or when someone asks for it."""

    def leave(number: int, frame: FrameType | None) -> None:
        # The kernel also sends SIGUSR1 when only the trainer's starting thread has ended.
        if number != signal.SIGUSR1 or os.getppid() != trainer:
            raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGUSR1, leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limits.die_with_parent(trainer, by=signal.SIGUSR1)


def _keep(child: int, lifeline: socket.socket) -> None:
    """Sweep up orphans until the zygote has ended or the trainer lets go of the lifeline."""
    poller = select.poll()
    poller.register(lifeline, select.POLLIN)
    while child not in processes.reap():
        for stray in set(processes.children_of(os.getpid())) - {child}:
            processes.kill(stray)
        if poller.poll(SWEEP_S * 1000):
            return


def _end_family() -> list[int]:
    """Kill children and those adopted from them until none is left; return what is."""
    give_up = time.monotonic() + _FAMILY_END_S
    while (family := processes.children_of(os.getpid())) and time.monotonic() < give_up:
        for pid in family:
            processes.kill(pid)
        processes.reap()
        time.sleep(0.001)
    return family


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
