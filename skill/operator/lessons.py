"""Lessons of the operator: one for each verdict on a proposal of its own, written once.

The status follows from the verdict alone: a help supports what was expected, a harm or a null
refutes it. Other verdicts tell nothing that another run could lean on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skill.diagnosis.windows import Window
from skill.experience.pool import JUDGED, Pool
from skill.operator import scripts
from skill.standing import Standing


@dataclass(frozen=True)
class Written:
    """One lesson that was asked for."""

    proposal: int
    verdict: str
    path: str
    """Empty if it was refused; then `said` tells why."""
    said: str = ""


def write(
    window: Window,
    found: Sequence[Standing],
    pool: Pool,
    *,
    author: str,
    runs: str,
    experience: str,
) -> Iterator[Written]:
    """Write the lessons that are missing, and yield each.

    Args:
        window: The run, as read.
        found: What became of its proposals.
        pool: The lessons there are.
        author: Whose proposals are meant.
        runs: The folder of runs that a citation begins in.
        experience: The folder that holds the pool.
    """
    known = {
        entry.replace("ledger.jsonl#", "ledger#") for one in pool.lessons for entry in one.evidence
    }
    for one in found:
        if one.author != author or one.told is None or one.told.verdict not in JUDGED:
            continue
        citation = f"runs/{window.run}/ledger#{one.told.seq}"
        if citation in known:
            continue
        arguments = [*_arguments(window, one, citation), "--runs", runs]
        arguments += ["--experience", experience]
        answer = scripts.ask("lesson", ["new", *arguments], text=_text(one))
        path = str(answer.value.get("written", ""))
        yield Written(one.number, one.told.verdict, path, "" if path else answer.said)


def _arguments(window: Window, one: Standing, citation: str) -> list[str]:
    assert one.told is not None
    worlds = sorted({str(record.get("world")) for record in window.episodes if record.get("world")})
    status = "supported" if one.told.verdict == "help" else "refuted"
    moved = ", ".join(f"{path} from {old} to {new}" for path, (old, new) in one.changes.items())
    arguments = ["--title", f"Moving {moved} helps", "--status", status]
    arguments += ["--world", worlds[0] if len(worlds) == 1 else "any", "--policy", "any"]
    arguments += [part for path in one.changes for part in ("--knob", path)]
    arguments += ["--evidence", citation]
    if one.told.effect is not None:
        arguments.append(f"--effect={one.told.effect:g}")
    if one.told.interval is not None:
        low, high = one.told.interval
        arguments += ["--interval", f"{low:g}", f"{high:g}"]
    if one.told.window is not None:
        arguments += ["--window", f"steps {one.told.window[0]}-{one.told.window[1]}"]
    return arguments


def _text(one: Standing) -> str:
    assert one.told is not None
    moved = "\n".join(f"- {path}: {old} to {new}" for path, (old, new) in one.changes.items())
    taken_back = (
        "It stays in force."
        if one.told.rolled_back_by is None
        else f"Revision {one.told.rolled_back_by} took it back."
    )
    return (
        f"What we saw: {one.why}\n\nWhat we did, by proposal {one.number}:\n\n{moved}\n\n"
        f"What happened: the gate's verdict at step {one.told.step} is {one.told.verdict}: "
        f"{one.told.because}. {taken_back}\n\nWhat to do next time: this is one run; let another "
        "test it before leaning on it.\n"
    )
