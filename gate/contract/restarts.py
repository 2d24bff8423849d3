"""Restart requests: a meta-agent asks that a run be ended and launched again, for a named fault.

A restart throws training away, and five launches are all that an experiment has. So it is asked for
by a file, `proposals/NNNN.restart.json`, that names a fault which no change of a live run can undo,
and the records that show it. Who grants a request belongs to whoever launches runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gate.contract import files, launch_record, proposals
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.paths import OutsideRoot, RunPaths, inside

LARGEST = 16 * 1024
"""Bytes of a request."""

LONGEST = 2000
"""Characters of its reason."""

MOST_CITED = 20


class Fault(StrEnum):
    """What no change of a live run can undo."""

    WEIGHTS_BROKEN = "weights_broken"
    """Parameters are not finite, or no good checkpoint of them is left."""
    POLICY_COLLAPSED = "policy_collapsed"
    """The policy says one thing to everything, and did not recover after a change was judged."""
    EXPLOIT_LEARNT = "exploit_learnt"
    """The policy learnt to live off a leak or a reward that paid for nothing, and still does after
    the leak was closed."""
    LAUNCH_SETTING_WRONG = "launch_setting_wrong"
    """A value that only a launch can set is wrong, as the model or the rollout's context."""
    RECORDS_DAMAGED = "records_damaged"
    """Ledger or checkpoints are damaged, so that the run cannot be trusted or resumed."""


MEANINGS: Mapping[Fault, str] = {
    Fault.WEIGHTS_BROKEN: "parameters are not finite, or no good checkpoint is left",
    Fault.POLICY_COLLAPSED: "one reply to everything, still so after a judged change",
    Fault.EXPLOIT_LEARNT: "it lives off a leak or a reward for nothing, also after that was closed",
    Fault.LAUNCH_SETTING_WRONG: "a value that only a launch can set is wrong",
    Fault.RECORDS_DAMAGED: "ledger or checkpoints are damaged",
}
"""Every fault in a few words."""


@dataclass(frozen=True)
class RestartRequest:
    """One request as it was written."""

    fault: Fault
    because: str
    """What was seen, in a sentence or a few."""
    author: str
    steps: tuple[int, ...] = ()
    episodes: tuple[str, ...] = ()
    """Training records that show it; at least one step or episode."""
    sets: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Recipe values that the next launch should have, by dotted name."""
    number: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return it as its file holds it."""
        return {
            "fault": self.fault.value,
            "because": self.because,
            "author": self.author,
            "evidence": {"steps": list(self.steps), "episodes": list(self.episodes)},
            "sets": dict(self.sets),
        }


def submit(run: RunPaths, request: RestartRequest) -> int:
    """Put a request on file under the next free number; returns that number.

    Raises:
        Refused: if it cites nothing, the experiment has no launch left, or it would not be read
            back.
        DiskFull: if there is no room.
    """
    attempt = launch_record.attempt(run.root)
    if attempt >= launch_record.MOST_ATTEMPTS:
        message = f"This run is launch {attempt} of {launch_record.MOST_ATTEMPTS} of its experiment"
        step = "Draw the conclusion from the runs there are, and report."
        raise Refused([_flaw("budget", f"{message}; none is left.", step)])
    content = (json.dumps(request.to_json(), ensure_ascii=False, indent=2) + "\n").encode()
    parse(0, content)
    run.proposals.mkdir(exist_ok=True)
    number = proposals.next_number(run)
    while True:
        place = run.restart(number)
        try:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            number += 1
            continue
        files.write_whole(place, content)
        return number


def read(run: RunPaths) -> tuple[RestartRequest, ...]:
    """Return the requests of a run that can be read, the oldest first."""
    found: list[RestartRequest] = []
    try:
        folder = inside(run.root, "proposals")
    except OutsideRoot:
        return ()
    for number in proposals.restarts(proposals.names(run)):
        try:
            content = files.read_plain(folder / run.restart(number).name, most=LARGEST)
            found.append(parse(number, content))
        except (OSError, Refused):
            continue
    return tuple(found)


def parse(number: int, content: bytes) -> RestartRequest:
    """Return the request that the bytes of a file hold.

    Raises:
        Refused: with the first thing that is wrong.
    """
    try:
        value: Any = json.loads(content) if len(content) <= LARGEST else None
        evidence: Any = value["evidence"]
        made = RestartRequest(
            fault=Fault(value["fault"]),
            because=_text(value["because"]),
            author=_text(value["author"]),
            steps=tuple(_whole(step) for step in evidence["steps"][:MOST_CITED]),
            episodes=tuple(_text(name) for name in evidence["episodes"][:MOST_CITED]),
            sets={_text(key): value["sets"][key] for key in value.get("sets", {})},
            number=number,
        )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        known = ", ".join(Fault)
        message = f"The request is not whole: {error}."
        step = f"Name a fault ({known}), because, author and evidence."
        raise Refused([_flaw("form", message, step)]) from error
    if not made.steps and not made.episodes:
        message = "The request cites no record."
        raise Refused([_flaw("evidence", message, "Cite the steps or episodes that show it.")])
    return made


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST:
        raise ValueError(f"a text of 1 to {LONGEST} characters is wanted")
    return value.strip()


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("steps are whole numbers from 1")
    return value


def _flaw(rule: str, message: str, next_step: str) -> Finding:
    return Finding(f"restart.{rule}", Severity.ERROR, message, next_step)
