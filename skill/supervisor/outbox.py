"""The outbox: where a tick's proposals go when a person is to decide, and what becomes of them.

Under `act` an agent writes into the run's own folder, and the trainer takes proposals up at once.
Under `propose` it writes into a box that the kernel puts in that folder's place, or, where the
kernel holds nothing, what appears in the folder is made a draft at once. Nothing here judges a
proposal.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path

from gate.contract import files, proposals, restarts
from gate.contract.findings import Refused
from gate.contract.paths import RunPaths
from skill.proposing import Autonomy

_SUBMITTED = re.compile(r"\d{4}\.yaml\Z")
_DRAFTED = re.compile(r"\d{4}(?:\.draft)?\.yaml\Z")
_ASKED = re.compile(r"\d{4}\.restart\.json\Z")

MOST = 20
"""Proposals that one tick may leave."""


def open_box(run: RunPaths, folder: Path, autonomy: Autonomy) -> Path:
    """Return the folder that an agent shall see as `proposals/`.

    Args:
        run: The run.
        folder: The tick's own folder.
        autonomy: How far the tick may go.
    """
    if autonomy is Autonomy.ACT:
        return run.proposals
    box = folder / "outbox"
    box.mkdir(exist_ok=True)
    for name in proposals.names(run):
        with contextlib.suppress(OSError):
            content = files.read_plain(run.proposals / name, most=1 << 20)
            (box / name).write_bytes(content)
    return box


def hold_back(run: RunPaths, before: set[str]) -> None:
    """Make drafts of the proposals that appeared in the run's folder since the tick began."""
    for name in proposals.names(run):
        if name not in before and _SUBMITTED.match(name):
            number = int(name[:4])
            with contextlib.suppress(OSError):
                os.rename(run.proposal(number), run.draft(number))


def take_over(
    run: RunPaths, box: Path, autonomy: Autonomy, before: set[str], *, breached: bool
) -> list[int]:
    """Bring what a tick left to where it belongs; returns the numbers of its proposals.

    Args:
        run: The run.
        box: What `open_box` returned.
        autonomy: How far the tick may go.
        before: Names in the run's folder of proposals when it began.
        breached: True if the tick wrote what was not its own: then nothing of it is taken up, and
            what is not decided yet becomes a draft.
    """
    if breached or autonomy is not Autonomy.ACT:
        undecided = {name for name in proposals.names(run) if name not in before}
        decided = {name[:4] for name in undecided if name.endswith(".report.json")}
        hold_back(run, before | {f"{number}.yaml" for number in decided})
    if box != run.proposals:
        if not breached and autonomy is Autonomy.PROPOSE:
            _copy_in(run, box, before)
        shutil.rmtree(box, ignore_errors=True)
    new = [name for name in proposals.names(run) if name not in before]
    return sorted({int(name[:4]) for name in new if _DRAFTED.match(name)})


def _copy_in(run: RunPaths, box: Path, before: set[str]) -> None:
    new = sorted(name for name in proposals.names_in(os.fspath(box)) if name not in before)
    for name in new[:MOST]:
        try:
            content = files.read_plain(box / name, most=proposals.LARGEST)
            if _DRAFTED.match(name):
                proposals.submit(run, content, draft=True)
            elif _ASKED.match(name):
                restarts.submit(run, restarts.parse(0, content))
        except (OSError, Refused, ValueError):
            continue
