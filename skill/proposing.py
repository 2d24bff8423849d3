"""Proposing: a wish becomes the bytes of a proposal, is checked by the gate, and is submitted.

The gate is asked in a process of its own, as anybody may ask it; a proposal that it would refuse is
not submitted. Who wishes, an agent by flags or the operator by its playbook, makes no difference.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from gate.contract import files, knobs, proposals
from gate.contract.paths import RunPaths
from skill import fence

CHECKOUT = Path(__file__).resolve().parents[1]

GATE_S = 60.0
"""Seconds after which a gate that does not answer is given up; it answers in under one, and a check
with probes in about twenty."""

AUTONOMY = "EAU_AUTONOMY"
"""The variable by which a supervisor tells how far a tick may go; unset, as far as `act`."""

LONGEST_WHY, LONGEST_AUTHOR = 3900, 40
"""Characters that are kept of a text; a proposal allows a few more."""

FEWEST_STEPS = 10
"""No window is shorter unless it is asked for."""


class Autonomy(StrEnum):
    """How far a meta-agent may go."""

    WATCH = "watch"
    """It reports; nothing is submitted."""
    PROPOSE = "propose"
    """Its proposals are drafts until a person applies them."""
    ACT = "act"
    """The gate decides about its proposals at the next step boundary."""


class GateSilent(RuntimeError):
    """The gate could not be asked; says what it said instead of an answer."""


@dataclass(frozen=True)
class Wish:
    """What somebody wants in force, and why, before it is a proposal."""

    why: str
    author: str
    changes: Mapping[str, Any] | None = None
    """New values by knob path; None to take what `candidate/knobs/` changes."""
    steps: tuple[int, ...] = ()
    episodes: tuple[str, ...] = ()
    metric: str = "success"
    direction: str = "up"
    size: float = 0.05
    window: int = 20
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further keys of a proposal, as `concurrent`, `world` or `supersedes`."""


@dataclass(frozen=True)
class Checked:
    """What the gate says of a proposal."""

    passed: bool
    changes: tuple[Mapping[str, Any], ...]
    findings: tuple[Mapping[str, Any], ...]

    def sentences(self) -> list[str]:
        """Return each finding on one line: severity, place, message and next step."""
        return [
            f"{one['severity']} ({one['rule']}): {one['message']} {one['next_step']}"
            for one in self.findings
        ]


def render(wish: Wish) -> bytes:
    """Return a wish as the bytes of a proposal, its last line included."""
    values: dict[str, Any] = {
        "why": fence.visible(wish.why.strip(), LONGEST_WHY),
        "evidence": {"steps": list(wish.steps), "episodes": list(wish.episodes)},
        "changes": None if wish.changes is None else dict(wish.changes),
        "expected": {"metric": wish.metric, "direction": wish.direction, "size": wish.size},
        "window": wish.window,
        **wish.more,
        "author": fence.visible(wish.author, LONGEST_AUTHOR),
    }
    lines: list[str] = []
    for key, value in values.items():
        if isinstance(value, dict) and value:
            lines += [f"{key}:", *(f"  {name}: {_flow(one)}" for name, one in value.items())]
        elif value is not None:
            lines.append(f"{key}: {_flow(value)}")
    return "\n".join([*lines, proposals.END, ""]).encode()


def window_for(changes: Mapping[str, Any] | None) -> int:
    """Return steps that leave the slowest of some knobs time to show what it does.

    Args:
        changes: New values by knob path; None where they are not known.
    """
    homes = {".".join((path.split(".")[0], path.split(".")[-1])) for path in changes or {}}
    lags = [spec.lag_steps for path, spec in knobs.specs().items() if path in homes]
    return max(FEWEST_STEPS, 2 * max(lags, default=FEWEST_STEPS))


def check(run: RunPaths, content: bytes) -> Checked:
    """Ask the gate what the next step boundary would say.

    Args:
        run: The run.
        content: The bytes of a proposal.

    Raises:
        GateSilent: if it gives no answer in time.
    """
    command = [sys.executable, "-m", "gate", "check", os.fspath(run.root.resolve())]
    try:
        ended = subprocess.run(
            [*command, "--draft", "-", "--json"],
            input=content,
            capture_output=True,
            timeout=GATE_S,
            cwd=CHECKOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise GateSilent(f"the gate gave no answer in {GATE_S:g} s; try again") from error
    try:
        answer = json.loads(ended.stdout)
        findings = _as_seen_from_here(answer["findings"])
        passed = answer["passed"] or all(one["severity"] != "error" for one in findings)
        return Checked(passed, tuple(answer["changes"]), findings)
    except (ValueError, LookupError, TypeError) as error:
        told = ended.stderr.decode(errors="replace").strip()[-500:]
        raise GateSilent(f"the gate gave no answer (exit {ended.returncode}): {told}") from error


def _as_seen_from_here(findings: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return findings; those about evaluations that a fence hides become one warning.

    Inside a fence every hidden folder looks changed. The trainer's gate stands outside, compares
    it again, and decides.
    """
    hidden = [one for one in findings if _is_hidden(one)]
    if not hidden:
        return tuple(findings)
    worlds = ", ".join(sorted(Path(one["path"]).parent.name for one in hidden))
    told = {
        **hidden[0],
        "severity": "warning",
        "message": f"Evaluation is hidden from here ({worlds}), so it could not be compared.",
        "next_step": "Nothing: the trainer's gate compares it when it decides.",
    }
    return (*(one for one in findings if one not in hidden), told)


def _is_hidden(finding: Mapping[str, Any]) -> bool:
    folder = CHECKOUT / str(finding["path"])
    if finding["rule"] != "rules.protected" or folder.name != "evaluation":
        return False
    return not any(os.access(path, os.R_OK) for path in folder.glob("*"))


def autonomy(environment: Mapping[str, str]) -> Autonomy:
    """Return how far the caller may go, as its supervisor tells it; without one, `act`.

    A value that is not known counts as `watch`.
    """
    told = environment.get(AUTONOMY, Autonomy.ACT)
    return Autonomy(told) if told in list(Autonomy) else Autonomy.WATCH


def submit(run: RunPaths, content: bytes, *, draft: bool) -> int:
    """Put a proposal on file, for the gate or as a draft for a person; returns its number.

    Raises:
        gate.contract.files.DiskFull: if there is no room.
        ValueError: if all numbers are spent.
    """
    return proposals.submit(run, content, draft=draft)


def decision(run: RunPaths, number: int) -> Mapping[str, Any] | None:
    """Return the gate's report on a proposal; None while there is none that can be read."""
    try:
        told = json.loads(files.read_plain(run.report(number), most=1 << 20))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def _flow(value: Any) -> str:
    """Return a value as YAML on one line; JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)
