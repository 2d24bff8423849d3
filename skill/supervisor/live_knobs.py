"""Live knobs during a tick: what was saved in them by hand is a breach, and goes back.

The ledger says which content is in force. Contents that agree with it are remembered while the
tick lasts, since the gate itself writes these files when it adopts a proposal. What the trainer has
adopted in between is taken back by the gate, as a revision of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from gate.contract import files, knobs, ledger
from gate.contract.ledger import RevisionKind
from gate.contract.paths import RunPaths
from skill.supervisor.custody import Breach

REVERT_S = 60.0
CHECKOUT = Path(__file__).resolve().parents[2]


class LiveKnobs:
    """The knob files of one run, for one tick."""

    def __init__(self, run: RunPaths) -> None:
        """Remember what is there.

        Args:
            run: The run; its ledger begins with a launch.

        Raises:
            ledger.Damaged: if the ledger cannot be read.
        """
        self._run = run
        self._ledger_bytes = -1
        self._in_force: dict[str, str] = {}
        self._good: dict[str, bytes] = {}
        # What a person had saved already and the run has not adopted is nobody's breach.
        self._begun = {name: self._content(name) for name in knobs.FILES}
        self._first = max((one.number for one in ledger.revisions(run.ledger)), default=0)
        self.look()

    def look(self) -> None:
        """Remember the contents that agree with the ledger now; cheap, to be called often."""
        size = self._run.ledger.stat().st_size if self._run.ledger.exists() else 0
        if size != self._ledger_bytes:
            self._in_force = ledger.file_digests(ledger.revisions(self._run.ledger))
            self._ledger_bytes = size
        for name in knobs.FILES:
            content = self._content(name)
            if content is not None and self._agrees(name, content):
                self._good[name] = content

    def restore(self, keeping: Path | None) -> list[Breach]:
        """Put back what was saved by hand since the beginning; returns what that was.

        Args:
            keeping: A folder for what was found; None to leave everything as it is.
        """
        found: list[Breach] = []
        with files.run_lock(self._run.root, purpose="the end of a tick"):
            self.look()
            for name in knobs.FILES:
                content = self._content(name)
                if content == self._begun[name] or (content and self._agrees(name, content)):
                    continue
                found.append(self._put_back(name, content, keeping))
            adopted = [
                revision.number
                for revision in ledger.revisions(self._run.ledger)
                if revision.number > self._first and revision.kind is RevisionKind.DIRECT_EDIT
            ]
        for number in reversed(adopted):
            path = f"{self._run.ledger} revision {number}"
            done = keeping is not None and self._revert(number)
            found.append(Breach(path, "changed", done))
        return found

    def _put_back(self, name: str, content: bytes | None, keeping: Path | None) -> Breach:
        path = self._run.knob_file(name)
        good = self._good.get(name)
        what = "removed" if content is None else "changed"
        if keeping is None or good is None or not self._agrees(name, good):
            return Breach(os.fspath(path), what, False)
        if content is not None:
            keeping.mkdir(parents=True, exist_ok=True)
            files.write_whole(keeping / f"knobs-{name}.yaml", content)
        try:
            # Where the run watches a folder elsewhere, the link stays and its folder comes back.
            path.parent.resolve().mkdir(parents=True, exist_ok=True)
            files.write_whole(path, good)
        except OSError:
            return Breach(os.fspath(path), what, False)
        return Breach(os.fspath(path), what, True)

    def _revert(self, number: int) -> bool:
        command = [sys.executable, "-m", "gate", "revert", os.fspath(self._run.root.resolve())]
        reason = "a meta-agent saved a live knob file during its tick"
        try:
            ended = subprocess.run(
                [*command, str(number), "--reason", reason, "--json"],
                capture_output=True,
                timeout=REVERT_S,
                cwd=CHECKOUT,
                check=False,
            )
            return isinstance(json.loads(ended.stdout)["revision"], int)
        except (subprocess.TimeoutExpired, ValueError, LookupError):
            return False

    def _agrees(self, name: str, content: bytes) -> bool:
        return files.content_digest(content) == self._in_force.get(f"knobs/{name}.yaml")

    def _content(self, name: str) -> bytes | None:
        try:
            return files.read_plain(self._run.knob_file(name), most=knobs.LARGEST)
        except OSError:
            return None
