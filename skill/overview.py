"""Overview: the state of a run in one value, blame first.

Everything is read from the records; names and texts of others are made safe here, so that whoever
prints an overview need not think of it. Nothing here is a verdict on a change.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate.contract import ledger, proposals, restarts
from gate.contract.paths import RunPaths
from skill import fence
from skill.diagnosis import blame, detectors, signals
from skill.diagnosis.windows import Window

STEPS = 10
"""Steps over which the present is averaged."""

EVALUATION_ROOT = "EAU_EVAL_ROOT"

WORLDS = Path(__file__).parents[1] / "trainer" / "worlds"
"""Where the evaluation tasks of worlds lie, for a fence to hide."""


def overview(window: Window, paths: RunPaths, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return blame, health, knobs, open questions and protection as JSON values.

    Args:
        window: The run, as read.
        paths: Its directory, for what waits in it.
        environment: Variables that say where evaluations are kept.
    """
    return {
        "run": fence.name(window.run),
        "blame": _blame(window),
        "health": _health(window),
        "knobs": _knobs(window, paths),
        "questions": _questions(window, paths),
        "evaluation": _evaluation(window, environment),
    }


def _blame(window: Window) -> dict[str, Any]:
    first = len(window.dialogues) - len(window.recent)
    # All that was read says which answers are right; only the newest are shared out.
    right = blame.solved_answers(window.dialogues)
    blamed = [blame.blame(one, right) for one in window.dialogues[first:] if one.failed]
    found = blame.shares(window.recent, blamed)
    shown = {entry.party.value: fence.name(entry.evidence) for entry in blamed}
    return {
        "episodes": found.episodes,
        "failed": found.failed,
        "shares": {party.value: round(found.share(party), 3) for party, _ in found.counts},
        "reasons": {fence.name(reason): count for reason, count in found.reasons[:8]},
        "newest_example": {party.value: shown[party.value] for party, _ in found.counts},
    }


def _health(window: Window) -> dict[str, Any]:
    status = window.status
    heartbeat = signals.number(status, "heartbeat")
    success = signals.values(window.steps, "success")
    lately, before = success[-STEPS:], success[-2 * STEPS : -STEPS]
    return {
        "phase": fence.name(status.get("phase", "unknown")),
        "stage": fence.name(status.get("stage", "unknown")),
        "step": _count(status, "step"),
        "total_steps": _count(status, "total_steps"),
        "heartbeat_age_s": None if heartbeat is None else round(window.now - heartbeat, 1),
        "success_last_10": _rounded(signals.mean(lately)),
        "success_10_before": _rounded(signals.mean(before)),
        "reward_last_10": _rounded(signals.mean(signals.values(window.steps, "reward")[-STEPS:])),
        "quarantined_last_10": int(sum(signals.values(window.steps[-STEPS:], "quarantined"))),
        "damaged_lines": window.torn,
        "mended_records": window.mended,
        "told_by_the_run": fence.plain(status.get("health", {})),
        "reason": fence.plain(status.get("reason")),
        "unread": list(window.notes),
    }


def _knobs(window: Window, paths: RunPaths) -> dict[str, Any]:
    refused = window.status.get("refused")
    since = window.status.get("in_force_since")
    return {
        "revision": _count(window.status, "revision"),
        "in_force": {} if window.knobs is None else fence.plain(window.knobs.to_json(), depth=6),
        "changed": _changed(window, paths),
        "in_force_since": fence.plain(since if isinstance(since, dict) else {}),
        "refused": fence.plain(refused[:4] if isinstance(refused, list) else []),
    }


def _changed(window: Window, paths: RunPaths) -> list[str]:
    """Return the names of the knobs that are not as the run began.

    Both sides come from the ledger, since a knob file on disk may hold what was refused.
    """
    if window.knobs is None:
        return []
    launch = ledger.launch_values(paths.ledger)
    now = window.knobs.to_json()
    return [
        f"{file}.{key}"
        for file, values in now.items()
        for key, value in values.items()
        if launch.get(file, {}).get(key) != value
    ]


def _questions(window: Window, paths: RunPaths) -> list[str]:
    """What waits for an answer: symptoms, refusals, proposals and open tests."""
    found = [
        f"symptom {symptom.name} ({symptom.party.value}): {symptom.sentence}"
        for symptom in detectors.examine(window)
    ]
    for key, told in (
        ("refused", "knob files on disk are refused: `gate check` says where and why"),
        ("warnings", "the run has warnings about what is in force: `gate check` names them"),
    ):
        if window.status.get(key):
            found.append(told)
    names = proposals.names(paths)
    open_ones = [n for n in proposals.numbers(names) if not paths.report(n).exists()]
    found += [f"proposal {number:04d} has no report yet" for number in open_ones[:5]]
    found += [
        f"draft {number:04d} waits for a person: gate apply RUN {number}"
        for number in proposals.drafts(names)[:5]
    ]
    found += [f"a restart is asked for: {request.fault}" for request in restarts.read(paths)[-1:]]
    tests = sorted(paths.experiments.glob("*.yaml"))
    found += [f"test {fence.name(path.stem)} is on file in experiments/" for path in tests[-3:]]
    return found


def _evaluation(window: Window, environment: Mapping[str, str]) -> dict[str, Any]:
    told = window.status.get("not_protected")
    home = environment.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    results = Path(environment.get(EVALUATION_ROOT) or Path(home) / "eau" / "evaluations")
    places = {"results": [results], "tasks": sorted(WORLDS.glob("*/evaluation"))}
    readable = [what for what, roots in places.items() if any(_readable(root) for root in roots)]
    return {
        "protected": not readable and not told,
        "readable_from_here": readable,
        "told_by_the_run": fence.plain(told[:8] if isinstance(told, list) else []),
    }


def _readable(directory: Path) -> bool:
    """True where a directory can be entered and holds something; its contents are not read."""
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _count(record: Mapping[str, Any], key: str) -> int | None:
    number = signals.number(record, key)
    return None if number is None else int(number)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
