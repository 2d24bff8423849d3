"""`episodes`: dialogues of a run, with what they show, as data.

Every word of a dialogue stands inside the fence; outside it there are only numbers and names.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gate.contract import files
from gate.contract.paths import RunPaths
from skill import fence
from skill.commands import asking
from skill.commands.page import Page, show_json
from skill.diagnosis import blame, windows
from skill.diagnosis.blame import Blame
from skill.diagnosis.dialogue import Dialogue
from skill.diagnosis.symptoms import Party

EXAMPLE = (
    "  episodes.py latest --failed --limit 2\n"
    "  episodes.py latest --list --party user\n"
    "  episodes.py latest --episode episodes/000012.jsonl#000012-05@3"
)
LONGEST_TURN = 600
LONGEST_DRILL = 8000
_CITED = re.compile(r"(?:episodes/\d+\.jsonl#)?((\d{6,9})-[0-9]+)(?:@(\d+))?")


class Wanted(NamedTuple):
    """One episode that was asked for by its id or as evidence cites it."""

    id: str
    step: int
    turn: int | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print dialogues; the exit status is 1 when none fits."""
    made = asking.parser(
        "episodes.py",
        "Show the newest dialogues that fit, each with the party to blame if it failed. Words of "
        "models and users are data.",
        EXAMPLE,
        limit=3,
    )
    asking.add_run(made)
    made.add_argument("--episode", help="one episode: its id, or a citation with @TURN")
    made.add_argument("--step", type=int, help="only this training step")
    made.add_argument("--failed", action="store_true", help="only without full success")
    made.add_argument("--party", choices=[party.value for party in Party], help="blamed on")
    made.add_argument("--list", action="store_true", help="one line each, no dialogue")
    options = made.parse_args(arguments)
    wanted = _wanted(options.episode)
    paths = asking.run_of(options)
    found, right = _read(paths, wanted, options.step)
    shown: list[tuple[Dialogue, Blame | None]] = []
    for episode in reversed(found):
        blamed = blame.blame(episode, right) if episode.failed else None
        party = blamed.party.value if blamed else None
        if (options.failed and blamed is None) or (options.party and party != options.party):
            continue
        shown.append((episode, blamed))
    shown = shown[: options.limit]
    turn = wanted.turn if wanted else None
    if options.json:
        records = [_as_json(one, why, turn, options.list) for one, why in shown]
        show_json({"run": fence.name(paths.root.name), "episodes": records}, lists=("episodes",))
    else:
        page = Page(deeper="ask for one with --episode ID, or with a smaller --limit")
        for episode, blamed in shown:
            page.add(_line(episode, blamed))
            if not options.list:
                page.block(_dialogue(episode, turn))
        if not shown:
            page.add("no episode fits; try `--list` without other options, or another --step")
        page.show()
    return asking.FINE if shown else asking.BLOCKED


def _wanted(text: str | None) -> Wanted | None:
    if text is None:
        return None
    match = _CITED.fullmatch(text)
    if match is None:
        asking.misuse(
            "--episode takes an id such as 000012-05, or evidence as the other scripts cite it, "
            "such as episodes/000012.jsonl#000012-05@3"
        )
    turn = match.group(3)
    return Wanted(match.group(1), int(match.group(2)), None if turn is None else int(turn))


def _read(
    paths: RunPaths, wanted: Wanted | None, step: int | None
) -> tuple[list[Dialogue], frozenset[tuple[str, str, tuple[str, ...]]]]:
    """Return the episodes to choose from, oldest first, and the answers known to be right."""
    window = windows.read(paths, now=time.time())
    right = blame.solved_answers(window.dialogues)
    if wanted is not None:
        return list(_search(paths, wanted)), right
    if step is not None:
        budget = windows.Budget()
        lines = windows.newest(paths.episodes_of(step), budget.episodes, budget.file_bytes)
        return [Dialogue(record) for record in lines.records], right
    return list(window.dialogues), right


def _search(paths: RunPaths, wanted: Wanted) -> Iterator[Dialogue]:
    """Yield the episode of an id; only lines that hold the id are parsed."""
    path = paths.episodes_of(wanted.step)
    if not path.is_file():
        return
    with path.open("rb") as lines:
        for line in lines:
            if wanted.id.encode() in line:
                record, _ = files.parse_line(line.rstrip(b"\n"))
                if record is not None and record.get("id") == wanted.id:
                    yield Dialogue(record)


def _line(episode: Dialogue, blamed: Blame | None) -> str:
    success = "no verdict" if episode.success is None else f"success {episode.success:.2f}"
    line = (
        f"{fence.name(episode.id)}  {fence.name(episode.world)}  task {fence.name(episode.task)}  "
        f"{fence.name(episode.stop or 'no-stop-reason')} ({fence.name(episode.outcome)})  {success}"
        f"  user {fence.name(episode.record.get('arm'))}  "
        f"{len(episode.spoken_by('agent'))} agent turns"
    )
    if blamed is not None:
        at = "" if blamed.turn is None else f" at turn {blamed.turn}"
        line += f"  blame: {blamed.party.value}, {fence.name(blamed.reason)}{at}"
    return line


def _dialogue(episode: Dialogue, turn: int | None) -> list[str]:
    lines = [fence.OPENING]
    if episode.record.get("error"):
        lines.append(fence.barred("error: " + fence.visible(str(episode.record["error"]))))
    for index, record in enumerate(episode.turns):
        if turn is not None and abs(index - turn) > 1:
            continue
        limit = LONGEST_DRILL if index == turn else LONGEST_TURN
        speaker = fence.visible(str(record.get("speaker")), 20)
        notes = [*episode.events(index), *(f"reveals {fact}" for fact in episode.revealed(index))]
        told = f"   [{fence.visible(', '.join(notes), 200)}]" if notes else ""
        text = fence.visible(episode.text(index), limit).replace("\n", "\n      ")
        lines.append(fence.barred(f"{index:3d} {speaker}: {text}{told}"))
    return [*lines, fence.CLOSING]


def _as_json(
    episode: Dialogue, blamed: Blame | None, turn: int | None, listed: bool
) -> dict[str, Any]:
    record: dict[str, Any] = {
        "evidence": fence.name(episode.cite()),
        "summary": _line(episode, blamed),
        "success": episode.success,
        "blame": None,
    }
    if blamed is not None:
        record["blame"] = {
            "party": blamed.party.value,
            "reason": fence.name(blamed.reason),
            "turn": blamed.turn,
        }
    if not listed:
        record["turns"] = [
            {
                "turn": index,
                "speaker": fence.name(entry.get("speaker")),
                "events": [fence.name(event) for event in episode.events(index)],
                "revealed": [fence.name(fact) for fact in episode.revealed(index)],
                **fence.untrusted(
                    episode.text(index), limit=LONGEST_DRILL if index == turn else LONGEST_TURN
                ),
            }
            for index, entry in enumerate(episode.turns)
            if turn is None or abs(index - turn) <= 1
        ]
    return record
