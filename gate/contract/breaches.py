"""Breaches: somebody wrote what was not theirs to write, and the ledger says so.

Whoever notices puts back what it can and records it here, as a refusal: the writes did not come
into force, or were taken back. Nothing here looks for breaches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gate.contract import files, ledger
from gate.contract.findings import Finding, Severity
from gate.contract.ledger import Entry, EntryKind
from gate.contract.paths import RunPaths

MOST = 50
"""Sentences that one line keeps."""


@dataclass(frozen=True)
class Breach:
    """One line about breaches: what somebody wrote in one tick of a meta-agent."""

    seq: int
    """The number of the line in the ledger."""
    tick: int
    agent: str
    sentences: tuple[str, ...]


def recorded(entries: Iterable[Entry]) -> tuple[Breach, ...]:
    """Return the breaches among the records of a ledger, oldest first."""
    return tuple(
        Breach(
            seq=entry.seq,
            tick=entry.body.get("tick", 0),
            agent=entry.body.get("agent", ""),
            sentences=tuple(entry.body["breach"]),
        )
        for entry in entries
        if entry.kind is EntryKind.REFUSED and "breach" in entry.body
    )


def record(
    run: RunPaths, sentences: Sequence[str], *, tick: int, agent: str, step: int, now: float
) -> Entry:
    """Put a breach on the ledger of a run.

    Args:
        run: The run.
        sentences: What was written and what was put back, one a sentence.
        tick: The number of the tick of the meta-agent in which it happened.
        agent: Who was at work then.
        step: The training step about to begin.
        now: Seconds since 1970.

    Raises:
        ValueError: if there is nothing to record.
        files.DiskFull: if there is no room.
        files.LockBusy: if another process keeps the run's lock.
        ledger.Damaged: if the ledger cannot be read.
    """
    if not sentences:
        raise ValueError("a breach says what was written; there is no sentence")
    findings = [
        Finding(
            "breach.write",
            Severity.ERROR,
            f"{sentence}.",
            f"Look at supervisor/{tick:04d}/ for what was found there.",
        )
        for sentence in sentences[:MOST]
    ]
    body = {
        "breach": list(sentences[:MOST]),
        "tick": tick,
        "agent": agent[:60],
        "findings": [finding.to_json() for finding in findings],
    }
    with files.run_lock(run.root, purpose="a breach"):
        return ledger.append(run.ledger, EntryKind.REFUSED, body, step=step, now=now)
