"""Probing: a candidate is tried in a process of its own while the values in force stay.

The process runs protected code of the checkout, knows no secret, and is ended for sure. Its answer
is one line of JSON with findings; a process that dies, hangs or says anything else is a finding
itself. Nothing of a candidate is imported here, and nothing of the trainer.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from gate.contract import files
from gate.contract.findings import Finding, Severity
from gate.contract.protected import CHECKOUT

COMMAND = (sys.executable, "-m", "trainer", "probe")
"""The program that probes; the path of a request is added."""

TASKS = 32
SECONDS = 10.0
"""Seconds that the checks of one probe may take together."""

EPISODES = 256
"""Stored episodes that a backtest may use."""

DEADLINE_S = 90.0
"""Seconds after which a probe is ended, start and workers included."""

LONGEST_ANSWER = 1 << 20
"""Bytes of an answer."""

WORLDS = "worlds"
REQUEST = "request.json"
ANSWER = "answer.json"

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ")


@dataclass(frozen=True)
class Question:
    """What is to be probed."""

    number: int
    """The number of the proposal."""
    request: Mapping[str, Any]
    """What the probe is asked, without the folder of the new worlds."""
    worlds: Mapping[str, bytes]
    """Every file of that folder by its path within; empty if no world differs."""

    @property
    def key(self) -> str:
        """A digest of all of it: the same question has the same answer."""
        digests = {path: files.content_digest(content) for path, content in self.worlds.items()}
        text = json.dumps([self.request, digests], sort_keys=True)
        return files.content_digest(text.encode())


@dataclass(frozen=True)
class Report:
    """What a probe found."""

    findings: tuple[Finding, ...]
    measured: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """By check and world; the larger, the worse."""
    seconds: float = 0.0
    tasks: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return what the ledger keeps of it beside the findings."""
        return {"measured": dict(self.measured), "seconds": self.seconds, "tasks": self.tasks}


class Prober:
    """Asks one question at a time and does not wait for the answer, unless it is made to.

    Ask again, with the same question, until there is an answer; another question ends the one
    before. `close` it in the end.
    """

    def __init__(
        self,
        folder: Path,
        *,
        command: Sequence[str] = COMMAND,
        deadline_s: float = DEADLINE_S,
        waits: bool = False,
    ) -> None:
        """Prepare to probe.

        Args:
            folder: A folder of its own, emptied with every question.
            command: The program; the path of a request is added.
            deadline_s: Seconds after which it is ended.
            waits: Whether to wait for every answer, so that when a proposal is decided does not
                depend on how fast the machine is.
        """
        self._waits = waits
        self._folder = folder
        self._command = tuple(command)
        self._deadline_s = deadline_s
        self._key = ""
        self._leash: subprocess.Popen[bytes] | None = None

    def ask(self, question: Question) -> Report | None:
        """Return the answer to a question; None as long as there is none.

        Raises:
            files.DiskFull: if there is no room for the question.
        """
        key = question.key
        if self._leash is None or key != self._key:
            self.close()
            self._leash, self._key = self._start(question), key
        if self._waits:
            self._leash.wait()
        if self._leash.poll() is None:
            return None
        try:
            told = json.loads((self._folder / ANSWER).read_bytes())
        except OSError:
            told = {"ended": "was ended from outside", "stdout": "", "stderr": ""}
        self.close()
        return read_answer(question.number, told)

    def wait(self, question: Question) -> Report:
        """Return the answer to a question, however long it takes up to the deadline."""
        while (report := self.ask(question)) is None:
            time.sleep(0.02)
        return report

    def close(self) -> None:
        """End what is under way and remove what was written."""
        if self._leash is not None:
            assert self._leash.stdin is not None
            self._leash.stdin.close()
            self._leash.wait()
            self._leash, self._key = None, ""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, question: Question) -> subprocess.Popen[bytes]:
        request = dict(question.request)
        with files.room_for(self._folder):
            self._folder.mkdir(parents=True)
            for path, content in question.worlds.items():
                place = self._folder / WORLDS / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            if question.worlds:
                root = os.fspath((self._folder / WORLDS).resolve())
                request["new"] = {**request["new"], "world_root": root}
            asked = self._folder / REQUEST
            asked.write_text(json.dumps(request), encoding="utf-8")
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "gate.leash"),
                *(os.fspath((self._folder / ANSWER).resolve()), f"{self._deadline_s}"),
                *(f"{LONGEST_ANSWER}", *self._command, os.fspath(asked.resolve())),
            ],
            cwd=CHECKOUT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def environment() -> dict[str, str]:
    """Return the environment of a probe: what a program needs to start, and no secret."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {
        **kept,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.fspath(CHECKOUT),
    }


def read_answer(number: int, told: Mapping[str, Any]) -> Report:
    """Return the report in what became of a probe; whatever is none is a refusal with the reason.

    Args:
        number: The number of the proposal.
        told: What the leash wrote: `ended`, `stdout` and `stderr`.
    """
    if told["ended"] != 0:
        status = told["ended"]
        why = f"ended with status {status}" if isinstance(status, int) else str(status)
        lines = [line for line in told["stderr"].splitlines() if line.strip()]
        return _failed(number, f"{why}{f' ({lines[-1][:200]})' if lines else ''}")
    lines = told["stdout"].splitlines()
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        (line,) = lines
        answer = cast("dict[str, Any]", json.loads(line))
        found = tuple(Finding.from_json(record) for record in answer["findings"])
        if all(one.rule.startswith("probe.") for one in found):
            measured = cast("dict[str, Any]", dict(answer["measured"]))
            return Report(found, measured, float(answer["seconds"]), int(answer["tasks"]))
    return _failed(number, "did not answer with one line of JSON")


def _failed(number: int, why: str) -> Report:
    message = f"The probe of proposal {number} {why}."
    step = f"Run `gate check RUN --proposal {number}`, mend the candidate, and submit it again."
    return Report((Finding("probe.failed", Severity.ERROR, message, step),))
