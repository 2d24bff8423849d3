"""Episodes of worlds in disposable processes: every call comes back, by its deadline, as a value.

A world that hangs, raises, dies, floods or lies costs its own episode and nothing else. One loop
over file descriptors serves all episodes; results do not depend on the order in which they
arrive. No process is left after `shutdown`, nor after the trainer's own death by any signal
(`trainer.worlds.keeper`). This module knows nothing about rewards, users or policies.
"""

from __future__ import annotations

import os
import select
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from trainer.episode import StopReason
from trainer.task import Task
from trainer.worlds import wire
from trainer.worlds.calls import JUDGE_SETTING, Call, Fault, Result, fault
from trainer.worlds.flight import POST_MORTEM_S, Pending
from trainer.worlds.limits import Limits
from trainer.worlds.line import EpisodeLine
from trainer.worlds.process import News, Spare, WorldProcess


class WorldHost:
    """The worlds of one revision; see `trainer.worlds.calls.Host` for what each method promises.

    Processes start with the first episode of their world. One that has died is started again
    at the next step boundary, which is when an episode is opened after all have been closed.
    """

    def __init__(
        self,
        folders: Mapping[str, Path],
        *,
        limits: Limits | None = None,
        ahead: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remember where the worlds are; nothing starts yet.

        Args:
            folders: The folder of each world, by the name that tasks give it.
            limits: What each world may use.
            ahead: Whether the close of a step's last episode begins as many processes as the step
                had episodes, so that they are there, idle, when the next step opens its own.
            clock: Seconds since any fixed point.
        """
        self._folders = dict(folders)
        self._limits = limits or Limits()
        self._ahead = ahead
        self._clock = clock
        self._lines: dict[str, EpisodeLine] = {}
        self._pending: dict[str, Pending] = {}
        self._opening: dict[tuple[str, int], EpisodeLine] = {}
        self._processes: dict[str, WorldProcess] = {}
        self._ending: list[WorldProcess] = []
        self._period = 0
        self._serial = 0
        self._owner = os.getpid()
        self._owned = (self._lines, self._processes, self._ending)
        self._end = weakref.finalize(self, _end_all, *self._owned, owner=self._owner)

    def check(self, world: str) -> Fault | None:
        """Load a world now; return why it cannot be used, or None when it can."""
        process = self._process(world)
        self._listen(lambda: process.ready or process.fault is not None)
        if not process.ready and process.fault is None:
            self._give_up(process)
        return process.fault

    def unfenced(self) -> list[str]:
        """Names of worlds that run and can reach the network, because no fence was to be had."""
        return [process.world for process in self._up() if process.fenced is False]

    def open(self, key: str, task: Task, *, settings: Mapping[str, Any], seed: int) -> None:
        """Begin one episode; what goes wrong is told by its first call."""
        if key in self._lines:
            raise ValueError(f"episode {key!r} is open already; close it, or use another key")
        begin = wire.begin_request(task, settings, seed)
        process = self._process(task.world)
        line = EpisodeLine(process, begin, may_ask=bool(settings.get(JUDGE_SETTING)))
        self._lines[key] = line
        if not line.over:
            process.episodes += 1
            process.prepare(task)
            serial = next(iter(process.spares), None) or self._fork(process)
            spare = process.spares.pop(serial, None)
            if spare is None:
                self._opening[process.world, serial] = line
            else:
                line.connect(spare.line, spare.pid)

    def call(self, calls: Mapping[str, Call], *, deadline_s: float) -> dict[str, Result]:
        """Ask many episodes at once; one result per key, in the order of `calls`.

        An episode whose world is still loading is waited for first, at most `Limits.load_s`;
        then all requests go out, and after `deadline_s` whatever has no answer is killed.
        """
        lines = [self._line(key) for key in calls]
        self._connect(lines)
        asked = []
        for line, call in zip(lines, calls.values(), strict=True):
            if not line.over:
                line.ask(call)
                asked.append(line)
        self._exchange(asked, self._clock() + deadline_s)
        for line in asked:
            if line.result is None:
                line.miss(deadline_s)
        if any(line.died for line in asked):
            self._listen(lambda: not any(p.dying for p in self._up()), POST_MORTEM_S)
        return {key: _told(line) for key, line in zip(calls, lines, strict=True)}

    def send(self, calls: Mapping[str, Call], *, deadline_s: float) -> None:
        """Ask many episodes and come back at once; see `CallsInFlight` for what is promised."""
        for key, call in calls.items():
            line = self._line(key)
            if not line.over:
                line.ask(call)
            self._pending[key] = Pending(line, deadline_s, self._clock())

    def descriptors(self) -> dict[int, int]:
        """Return what to listen to until `arrived` has news, with the events of `select.poll`."""
        talking = {process.control.fileno(): process.unsent for process in self._up()}
        waiting = {descriptor: line.unsent for descriptor, line in self._waiting().items()}
        return {one: _interest(unsent) for one, unsent in (talking | waiting).items()}

    def arrived(self) -> dict[str, Result]:
        """Return the results of calls sent that have come, or can never come, by now."""
        poller = select.poll()
        talking, waiting = self._register_zygotes(poller), self._waiting()
        for descriptor, line in waiting.items():
            poller.register(descriptor, _interest(line.unsent))
        for descriptor, event in poller.poll(0):
            if descriptor in talking:
                self._hear(talking[descriptor])
            else:
                _serve(waiting[descriptor], event)
        now = self._clock()
        for pending in self._pending.values():
            if pending.is_late(now):
                pending.line.miss(pending.deadline_s)
            elif pending.cannot_begin(now, self._limits.load_s):
                self._give_up(pending.line.process)
        there = [key for key, pending in self._pending.items() if not pending.waits(now)]
        return {key: _told(self._pending.pop(key).line) for key in there}

    def close(self, keys: Iterable[str]) -> None:
        """End those episodes and kill their processes; unknown keys are passed over."""
        for key in keys:
            self._pending.pop(key, None)
            line = self._lines.pop(key, None)
            if line is not None:
                line.close()
                if not self._lines:
                    self._end_step()

    def replace(self, folders: Mapping[str, Path]) -> None:
        """Go over to other folders, as for a new revision; the old processes end.

        Raises:
            ValueError: if an episode is open, because it would end under another revision than
                it began.
        """
        if self._lines:
            raise ValueError(f"{len(self._lines)} episodes are open; close them before a replace")
        self._folders = dict(folders)
        self.shutdown()

    def shutdown(self) -> None:
        """End all episodes and processes, and return when they are gone; may be repeated."""
        self._opening.clear()
        self._pending.clear()
        _end_all(*self._owned, owner=self._owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def _line(self, key: str) -> EpisodeLine:
        if key not in self._lines:
            raise ValueError(f"episode {key!r} is not open; open it before calling it")
        return self._lines[key]

    def _waiting(self) -> dict[int, EpisodeLine]:
        """Return the lines of calls sent that may have something to read or room to write."""
        lines = (pending.line for pending in self._pending.values())
        return {line.fileno(): line for line in lines if line.connected and line.result is None}

    def _fork(self, process: WorldProcess) -> int:
        """Order a process for one episode; returns the number under which it will be told."""
        self._serial += 1
        process.order({"fork": self._serial})
        return self._serial

    def _end_step(self) -> None:
        """All episodes are closed; processes for as many begin now where that is wanted."""
        self._period += 1
        for process in self._up():
            wanted = process.episodes - len(process.spares) if self._ahead else 0
            process.spares |= dict.fromkeys(self._fork(process) for _ in range(wanted))
            process.episodes = 0

    def _up(self) -> list[WorldProcess]:
        return [process for process in self._processes.values() if process.fault is None]

    def _process(self, world: str) -> WorldProcess:
        """The world's process, started now if it must be and may be."""
        if world not in self._folders:
            known = ", ".join(sorted(self._folders)) or "none"
            raise ValueError(f"no folder for the world {world!r}; the worlds here are: {known}")
        process = self._processes.get(world)
        if process is not None and process.fault is not None and process.period < self._period:
            self._ending.append(process)
            process = None
        if process is None:
            process = WorldProcess(world, self._folders[world], self._limits, period=self._period)
            self._processes[world] = process
        return process

    def _connect(self, lines: list[EpisodeLine]) -> None:
        """Wait until each line has its process or a fault."""
        missing = [line for line in lines if not line.connected and not line.over]
        if not missing:
            return
        self._listen(lambda: all(line.connected or line.over for line in missing))
        for line in missing:
            if not line.connected and not line.over:
                self._give_up(line.process)

    def _give_up(self, process: WorldProcess) -> None:
        what = "begin an episode" if process.ready else "load"
        process.fall(
            fault(
                StopReason.WORLD_HUNG,
                f"{process.world} did not {what} within {self._limits.load_s:g} s",
            )
        )
        self._bury(process)

    def _listen(self, done: Callable[[], bool], seconds: float | None = None) -> None:
        """Take news from all zygotes until `done`, for at most the time a load may take."""
        until = self._clock() + (self._limits.load_s if seconds is None else seconds)
        while not done() and (left := until - self._clock()) > 0:
            poller = select.poll()
            talking = self._register_zygotes(poller)
            for descriptor, _ in poller.poll(left * 1000):
                self._hear(talking[descriptor])

    def _exchange(self, asked: list[EpisodeLine], until: float) -> None:
        """Carry bytes to and from the episodes until all have answered or time is up."""
        poller = select.poll()
        talking = self._register_zygotes(poller)
        waiting = {line.fileno(): line for line in asked}
        for descriptor, line in waiting.items():
            poller.register(descriptor, _interest(line.unsent))
        while waiting and (left := until - self._clock()) > 0:
            for descriptor, event in poller.poll(left * 1000):
                if descriptor in talking:
                    self._hear(talking[descriptor])
                    continue
                line = waiting[descriptor]
                _serve(line, event)
                if event & select.POLLOUT and line.connected:
                    poller.modify(descriptor, _interest(line.unsent))
            _drop(poller, waiting, [fd for fd, line in waiting.items() if line.result is not None])
            _drop(poller, talking, [fd for fd, process in talking.items() if process.fault])

    def _register_zygotes(self, poller: select.poll) -> dict[int, WorldProcess]:
        talking = {process.control.fileno(): process for process in self._up()}
        for descriptor, process in talking.items():
            poller.register(descriptor, _interest(process.unsent))
        return talking

    def _hear(self, process: WorldProcess) -> None:
        """Take what one zygote has to say, and send it what waits for room."""
        process.write()
        for news in process.news():
            self._take(process, news)
        if process.fault is not None:
            self._bury(process)

    def _take(self, process: WorldProcess, news: News) -> None:
        content = news.content
        if "failed" in content:
            process.fall(fault(StopReason.WORLD_ERROR, f"{process.world}: {content['failed']}"))
        elif "ended" in content:
            line = process.dying.pop(content["ended"], None)
            if line is not None:
                line.explain(content.get("status"))
        elif "forked" in content:
            line = self._opening.pop((process.world, content["forked"]), None)
            if news.line is not None and line is not None:
                line.connect(news.line, content["pid"])
            elif news.line is not None and content["forked"] in process.spares:
                process.spares[content["forked"]] = Spare(news.line, content["pid"])
            elif news.line is not None:
                news.line.close()
        else:
            process.ready = True

    def _bury(self, process: WorldProcess) -> None:
        """Pass the fault of a fallen process on to all its open episodes."""
        if process.fault is not None:
            for line in self._lines.values():
                if line.process is process:
                    line.fail(process.fault)


def _told(line: EpisodeLine) -> Result:
    if line.result is None:
        raise AssertionError("a call ended without a result; this is a fault of the host")
    return line.result


def _serve(line: EpisodeLine, event: int) -> None:
    """Carry bytes to and from one episode."""
    if event & select.POLLOUT:
        line.write()
    if event & ~select.POLLOUT:
        line.read()


def _interest(unsent: bool) -> int:
    return select.POLLIN | select.POLLOUT if unsent else select.POLLIN


def _drop(poller: select.poll, table: dict[int, Any], descriptors: list[int]) -> None:
    for descriptor in descriptors:
        poller.unregister(descriptor)
        del table[descriptor]


def _end_all(
    lines: dict[str, EpisodeLine],
    processes: dict[str, WorldProcess],
    ending: list[WorldProcess],
    *,
    owner: int,
) -> None:
    """End what a host owns and wait for it; all are let go first, so they end side by side."""
    # A fork of the trainer inherits this object, but not the right to end what it did not start.
    if os.getpid() != owner:
        return
    family = [*processes.values(), *ending]
    for line in lines.values():
        line.close()
    for table in (lines, processes, ending):
        table.clear()
    for process in family:
        process.let_go()
    for process in family:
        process.wait_gone()
