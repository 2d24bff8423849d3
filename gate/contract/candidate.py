"""The candidate: a working copy of knob files, and what it would change.

Only the files that are there count, so a candidate may hold one file of the four. It is read
with care, since whoever edits it may put anything in a file's place.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gate.contract import files, knobs
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import KnobChange, Knobs
from gate.contract.paths import OutsideRoot, RunPaths, inside

FOLDER = "candidate/knobs"


def changes(run: RunPaths, current: Knobs, *, worlds: Collection[str]) -> tuple[KnobChange, ...]:
    """Return what a run's candidate files change against the knobs in force.

    Args:
        run: The run.
        current: The knobs in force.
        worlds: Names of the run's worlds.

    Raises:
        Refused: for every fault of every file at once.
    """
    values = dict(current.values)
    findings: list[Finding] = []
    for name in knobs.FILES:
        path = f"{FOLDER}/{name}.yaml"
        try:
            folder = inside(run.root, FOLDER)
            content = files.read_plain(folder / f"{name}.yaml", most=knobs.LARGEST)
            values[name] = knobs.parse(name, content, worlds=worlds).values
        except FileNotFoundError:
            continue
        except OutsideRoot as error:
            step = "Put a folder in the place of the link."
            findings.append(Finding("candidate.link", Severity.ERROR, f"{error}.", step, file=path))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            message = f"{path} cannot be read: {reason}."
            step = f"Copy knobs/{name}.yaml to {path}, and edit that."
            findings.append(
                Finding("candidate.unreadable", Severity.ERROR, message, step, file=path)
            )
        except Refused as refused:
            findings += [replace(finding, file=path) for finding in refused.findings]
    if findings:
        raise Refused(findings)
    return knobs.diff(current, Knobs(values))
