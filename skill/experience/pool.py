"""The pool: a directory of lessons, read as a whole and only ever added to.

A file that is refused is told and costs itself alone. A correction is a new lesson that
supersedes the old one; nothing here changes or removes a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.contract import files, ledger, paths
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import tree
from gate.contract.ledger import EntryKind
from skill.experience import lesson
from skill.experience.lesson import Lesson, Status

JUDGED = frozenset({"help", "harm", "null"})
"""Verdicts that tell something; the others hold, wait or only stop what was breaking."""

_CITED = re.compile(r"runs/([\w.-]+)/ledger(?:\.jsonl)?#(\d+)")
_LONGEST_SLUG = 60

LAST = 9999
"""The highest number of a lesson."""


@dataclass(frozen=True)
class Pool:
    """Every lesson of a directory."""

    lessons: tuple[Lesson, ...]
    """In the order of their ids."""
    refused: tuple[Finding, ...] = ()
    """Why files could not be read."""

    def superseded(self) -> Mapping[int, int]:
        """Return, for each lesson that was corrected, the newest lesson that did it."""
        return {one.supersedes: one.id for one in self.lessons if one.supersedes is not None}

    def standing(self) -> tuple[Lesson, ...]:
        """Return the lessons that nothing has superseded."""
        gone = self.superseded()
        return tuple(one for one in self.lessons if one.id not in gone)

    def get(self, number: int) -> Lesson | None:
        """Return the lesson of an id."""
        return next((one for one in self.lessons if one.id == number), None)


@dataclass(frozen=True)
class Draft:
    """A lesson before it has a number."""

    title: str
    body: str
    status: Status
    world: str
    policy: str
    knobs: tuple[str, ...]
    evidence: tuple[str, ...]
    effect: float | None = None
    interval: tuple[float, float] | None = None
    window: str | None = None
    supersedes: int | None = None


def read(directory: Path) -> Pool:
    """Read every lesson of a directory; a missing directory has none.

    Args:
        directory: Holds `NNNN-slug.md` files and nothing else of that ending.

    Returns:
        What could be read, and why the rest could not: no lesson hides another.
    """
    found: list[Lesson] = []
    refused: list[Finding] = []
    for path in sorted(directory.glob("*.md")):
        try:
            found.append(lesson.parse(path.name, path.read_bytes().decode("utf-8")))
        except Refused as error:
            refused += error.findings
        except UnicodeDecodeError:
            message = f"{path.name} is no UTF-8 text."
            next_step = "Save it as UTF-8."
            refused.append(Finding("lesson.text", Severity.ERROR, message, next_step, path.name))
    ids = [one.id for one in found]
    for number in sorted({number for number in ids if ids.count(number) > 1}):
        message = f"Two lessons have the id {number}."
        next_step = "Give the newer one the next free number, in its name and its front matter."
        refused.append(Finding("lesson.id", Severity.ERROR, message, next_step))
    return Pool(tuple(sorted(found, key=lambda one: one.id)), tuple(refused))


def add(directory: Path, draft: Draft, *, today: str, runs: Path) -> Path:
    """Write a new lesson under the next free number and return its path.

    Two who write at once get two numbers.

    Args:
        directory: The pool; made if it is missing.
        draft: What was learnt.
        today: The day as `2026-03-01`.
        runs: Where the ledgers lie that the evidence cites.

    Raises:
        Refused: if the draft claims more than its evidence, cites a verdict that is not there, or
            supersedes a lesson that is not there; nothing is written.
    """
    faults = [*_missing_lesson(read(directory), draft), *_missing_verdicts(draft, runs)]
    if faults:
        raise Refused(faults)
    first = 1 + max(_numbers(directory), default=0)
    # What cannot be read back is refused before anything is on the disk.
    lesson.parse(_name(first, draft), render(draft, first, today=today))
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(first, LAST + 1):
        claim = directory / f".{number:04d}.claim"
        try:
            claim.touch(exist_ok=False)
        except FileExistsError:
            continue
        try:
            if number in _numbers(directory):
                continue
            path = paths.inside(directory, _name(number, draft))
            files.write_whole(path, render(draft, number, today=today).encode())
            return path
        finally:
            claim.unlink(missing_ok=True)
    message = f"{directory.name} has no free number up to {LAST}."
    raise Refused([_flaw("number", message, "Begin another pool with --experience.")])


def render(draft: Draft, number: int, *, today: str) -> str:
    """Return a draft as the text of a lesson's file."""
    front = [
        f"id: {number}",
        f"status: {draft.status.value}",
        f"recorded: {today}",
        f"scope: {{world: {_scalar(draft.world)}, policy: {_scalar(draft.policy)}}}",
        f"knobs: [{', '.join(map(_scalar, draft.knobs))}]",
        f"evidence: [{', '.join(map(_scalar, draft.evidence))}]",
    ]
    if draft.effect is not None:
        front.append(f"effect: {draft.effect:g}")
    if draft.interval is not None:
        front.append(f"interval: [{draft.interval[0]:g}, {draft.interval[1]:g}]")
    if draft.window is not None:
        front.append(f"window: {_scalar(draft.window)}")
    if draft.supersedes is not None:
        front.append(f"supersedes: {draft.supersedes}")
    title = " ".join(draft.title.split())
    return "---\n" + "\n".join(front) + f"\n---\n# {title}\n\n{draft.body.strip()}\n"


def _name(number: int, draft: Draft) -> str:
    return f"{number:04d}-{slug(draft.title)}.md"


def slug(title: str) -> str:
    """Return a few words of a title as a file name has them."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    kept = ""
    for word in words:
        if len(kept) + len(word) + 1 > _LONGEST_SLUG:
            break
        kept = f"{kept}-{word}" if kept else word
    return kept or "lesson"


def _numbers(directory: Path) -> list[int]:
    """Numbers in use, by files that cannot be read too."""
    return [int(path.name[:4]) for path in directory.glob("[0-9][0-9][0-9][0-9]-*.md")]


def _missing_lesson(pool: Pool, draft: Draft) -> Sequence[Finding]:
    if draft.supersedes is None or pool.get(draft.supersedes) is not None:
        return ()
    message = f"There is no lesson {draft.supersedes} to supersede."
    return (_flaw("supersedes", message, "Search the pool for the one you mean."),)


def _missing_verdicts(draft: Draft, runs: Path) -> list[Finding]:
    """Return a finding for each cited verdict that no ledger has."""
    found: list[Finding] = []
    for entry in draft.evidence:
        match = _CITED.fullmatch(entry)
        if match is None:
            continue
        verdict = _verdict(runs / match.group(1) / "ledger.jsonl", int(match.group(2)))
        if verdict not in JUDGED:
            message = f"{entry} is no verdict that tells something."
            next_step = (
                "Cite the `seq` of a line of kind outcome whose verdict is "
                f"{', '.join(sorted(JUDGED))}; `gate log` shows them. A verdict that holds or "
                "waits supports a conjecture at most, and need not be cited as evidence."
            )
            found.append(_flaw("verdict", message, next_step))
    return found


def _verdict(path: Path, number: int) -> str | None:
    try:
        for entry in ledger.entries(path):
            if entry.seq == number and entry.kind is EntryKind.OUTCOME:
                body: Mapping[str, Any] = entry.body
                return str(body.get("verdict", "")).lower()
    except ledger.Damaged:
        return None
    return None


def _scalar(text: str) -> str:
    """Return a text as YAML, quoted unless it is plainly a word."""
    plain = re.fullmatch(r"[A-Za-z][\w./#@-]*", text) and tree.resolve(text) == text
    if plain and "#" not in text:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def _flaw(rule: str, message: str, next_step: str) -> Finding:
    return Finding(f"lesson.{rule}", Severity.ERROR, message, next_step)
