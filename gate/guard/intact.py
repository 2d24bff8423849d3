"""The folder of worlds in force is what the ledger says, and whoever edits it is told otherwhere.

New workers load what lies there, so an edit in place would come into force without a rule or a
probe, and nothing measured with it could be compared. It is told at every step until it is undone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from gate.contract import files, launch_record, world_folder
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.paths import RunPaths
from gate.guard.history import History

RULE = "guard.world-edited"

Signature = tuple[int, tuple[tuple[str, int, int, int, int], ...]]
"""A folder's number, and what shows that its files may have changed."""


@dataclass
class Watch:
    """Looks at the folder in force; reads its files again only when something may differ."""

    run: RunPaths
    seen: Signature | None = None
    findings: tuple[Finding, ...] = ()
    """What was found at the last look."""

    def same(self, number: int) -> bool:
        """Return whether nothing can have changed since the last look."""
        return self.seen == self._signature(number)

    def look(self, past: History) -> tuple[Finding, ...]:
        """Return what differs from the ledger in the folder in force."""
        number = past.world(past.newest)
        signature = self._signature(number)
        if signature != self.seen:
            self.findings = check(self.run, past)
            self.seen = signature
        return self.findings

    def _signature(self, number: int) -> Signature:
        return number, world_folder.signature(os.fspath(self.run.world_revision(number)))


def check(run: RunPaths, past: History) -> tuple[Finding, ...]:
    """Return a finding for every file of the worlds in force that is not what the ledger says.

    Of the worlds of the launch one digest is known: there the whole folder is named.

    Args:
        run: The run.
        past: Its ledger.
    """
    number = past.world(past.newest)
    folder = f"world/{number:04d}"
    if number == 0:
        launched = launch_record.read(run.root).protected.get(folder)
        whole = launched is None or world_folder.folder_digest(run.root / folder) == launched
        return () if whole else (_finding(folder, "is not what the run was launched with"),)
    expected = {
        path: digest for path, digest in past.digests.items() if path.startswith(f"{folder}/")
    }
    found: dict[str, str] = {}
    odd: list[Finding] = []
    for world in sorted({path.split("/")[2] for path in expected} | _worlds(run, folder)):
        told = f"{folder}/{world}"
        try:
            contents = world_folder.read(run.root / told, told=told)
        except Refused as refused:
            odd += [_finding(one.file or told, "was put there by hand") for one in refused.findings]
            continue
        found |= {f"{told}/{path}": files.content_digest(data) for path, data in contents.items()}
    if odd:
        return tuple(odd)
    return tuple(
        _finding(path, "is gone" if path not in found else "was edited in place")
        if path in expected
        else _finding(path, "was put there by hand")
        for path in sorted(expected.keys() | found.keys())
        if expected.get(path) != found.get(path)
    )


def _worlds(run: RunPaths, folder: str) -> set[str]:
    try:
        return set(os.listdir(run.root / folder))
    except FileNotFoundError:
        return set()


def _finding(path: str, what: str) -> Finding:
    parts = path.split("/")
    copy = "/".join(["candidate", "world", *(parts[2:] or ["<world>", "<file>"])])
    return Finding(
        RULE,
        Severity.ERROR,
        f"{path} {what}: it never passed the gate, and new workers of the run would load it.",
        f"Undo that, and edit {copy} instead; a proposal with `world: true` takes it up.",
        file=path,
    )
