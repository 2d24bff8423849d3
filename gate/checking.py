"""What `gate check` looks at: a proposal with its probe, or a directory with its repository.

Nothing is changed by any of it, and nothing is printed here.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

from gate import selftest
from gate.contract.paths import RunPaths
from gate.contract.protected import CHECKOUT
from gate.guard import inspection, patching, probing, repository
from gate.guard.inspection import Inspection
from gate.guard.probing import Prober


@contextlib.contextmanager
def prober() -> Generator[Prober]:
    """Give a prober that works in a folder of its own, beside one that a trainer may have."""
    with tempfile.TemporaryDirectory(prefix="gate-probe-") as folder:
        made = Prober(Path(folder) / "probe", command=probing.COMMAND)
        try:
            yield made
        finally:
            made.close()


def proposal(
    run: RunPaths, number: int, draft: bytes | None, *, worlds: Sequence[str], probe: bool
) -> Inspection:
    """Say what the gate would make of one proposal.

    Args:
        run: The run.
        number: The proposal's number.
        draft: The bytes of a proposal that is not on file; None to read its file.
        worlds: Names of the run's worlds.
        probe: Whether it is also probed, if it changes dialogues.
    """
    with prober() as made:
        return inspection.inspect_proposal(
            run, number, worlds=worlds, draft=draft, prober=made if probe else None
        )


def patch(run: RunPaths, number: int) -> Inspection:
    """Say what the gate would make of a patch of the code, its tests included.

    Args:
        run: The run.
        number: The number of the patch.
    """
    tried = patching.attempt(run, number)
    return Inspection(os.fspath(run.patch(number)), tried.findings, probe=tried.to_json())


def directory(place: Path) -> Inspection:
    """Check knob files, the worlds and lessons of the checkout they lie in, and the rules.

    Args:
        place: A directory of knob files, or a checkout with one.
    """
    inner = place / "knobs"
    files, root = (inner, place) if inner.is_dir() else (place, place.parent)
    worlds = repository.worlds_of(root) or repository.worlds_of(CHECKOUT)
    found = inspection.inspect_directory(files, worlds=worlds)
    silent = selftest.findings(selftest.run())
    return replace(found, findings=(*silent, *found.findings, *repository.inspect(root)))
