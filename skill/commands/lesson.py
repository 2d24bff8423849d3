"""`lesson`: search what earlier runs taught, and add what this one taught.

Nothing is ever edited: a correction is a new lesson with `--supersedes`. Lessons were written by
others, so their words are shown as data.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gate.contract.findings import Finding, Refused
from skill import fence
from skill.commands import asking
from skill.commands.page import Page, show_json
from skill.experience import index, pool
from skill.experience.doubts import doubts
from skill.experience.lesson import Lesson, Status
from skill.experience.pool import Draft, Pool
from skill.experience.search import search
from skill.locate import RUNS

EXPERIENCE = "EAU_EXPERIENCE"
"""The variable that says where lessons are kept; unset, in the checkout's `experience/`."""

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLE = (
    '  lesson.py search "episodes end at the turn limit" --world travel\n'
    "  lesson.py show 1\n"
    '  lesson.py new --title "Few facts per reply slow learning" --world travel --policy small \\\n'
    '      --knob user.facts_per_reply --evidence "runs/a/steps.jsonl#40" \\\n'
    '      --text "We saw that. We did this. It gave so much. Next time do that."\n'
    "  lesson.py index"
)
LONGEST_BODY = 65_536


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, show or write lessons; the exit status is 1 when a lesson is refused."""
    options = _parser().parse_args(arguments)
    found = pool.read(options.experience / "lessons")
    return {"search": _search, "show": _show, "new": _new, "index": _index}[options.act](
        options, found
    )


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="lesson.py",
        description="Search what earlier runs taught, or write down what this one taught.",
        epilog=f"examples:\n{EXAMPLE}\n\nexit status: 0 fine, 1 blocked, 2 misuse",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    acts = made.add_subparsers(dest="act", required=True)
    searching = acts.add_parser("search", help="find lessons by scope and meaning")
    searching.add_argument("question", nargs="?", default="", help="in words; empty for all")
    for name in ("world", "policy", "knob"):
        searching.add_argument(f"--{name}", help=f"the {name} at hand")
    showing = acts.add_parser("show", help="show one lesson whole")
    showing.add_argument("number", type=int)
    writing = acts.add_parser("new", help="write a lesson; its text comes by --text, or from stdin")
    writing.add_argument("--title", required=True, help="the belief, in a sentence")
    writing.add_argument("--text", help="what was seen, done, found, what next; else from stdin")
    writing.add_argument("--status", choices=list(Status), default=Status.CONJECTURE)
    writing.add_argument("--world", required=True, help="where it was learnt, or any")
    writing.add_argument("--policy", required=True, help="with which policy, or any")
    writing.add_argument("--knob", action="append", default=[], help="repeat for several")
    writing.add_argument("--evidence", action="append", required=True, help="repeat for several")
    writing.add_argument("--effect", type=float, help="change of success, by the verdict")
    writing.add_argument("--interval", type=float, nargs=2, metavar=("LOW", "HIGH"))
    writing.add_argument("--window", help="over which steps")
    writing.add_argument("--supersedes", type=int, help="the lesson that this one corrects")
    writing.add_argument("--runs", type=Path, default=RUNS, help="where the cited ledgers lie")
    writing.add_argument("--dry-run", action="store_true", help="print it and write nothing")
    acts.add_parser("index", help="rewrite INDEX.md")
    for act in acts.choices.values():
        asking.shared(act, limit=5)
        act.add_argument(
            "--experience", type=Path, default=place(os.environ), help="the pool's directory"
        )
    return made


def place(environment: Mapping[str, str]) -> Path:
    """Return the folder that holds the pool of lessons."""
    return Path(environment.get(EXPERIENCE) or CHECKOUT / "experience")


def _search(options: argparse.Namespace, found: Pool) -> int:
    scope = {name: getattr(options, name) for name in ("world", "policy", "knob")}
    hits = search(found, options.question, **scope)
    shown = hits[: options.limit]
    if options.json:
        records = [
            {**_as_json(hit.lesson, found, body=False), "in_scope": hit.in_scope} for hit in shown
        ]
        answer = {"lessons": records, "more": len(hits) - len(shown), "refused": _told(found)}
        show_json(answer, lists=("lessons", "refused"))
    else:
        page = Page(deeper="ask with a smaller --limit, then `show` one")
        for hit in shown:
            page.block(_summary(hit.lesson, found, in_scope=hit.in_scope))
        page.add(f"{len(hits)} lessons fit" if hits else "no lesson fits")
        _tell_refused(page, found)
        page.show()
    return asking.FINE


def _show(options: argparse.Namespace, found: Pool) -> int:
    one = found.get(options.number)
    if one is None:
        print(f"there is no lesson {options.number}; `search` lists them", file=sys.stderr)
        return asking.BLOCKED
    if options.json:
        show_json(_as_json(one, found, body=True), lists=())
    else:
        page = Page(deeper="read the file")
        page.block(_summary(one, found, in_scope=True))
        page.block([fence.fenced(one.body, limit=12_000)])
        page.show()
    return asking.FINE


def _new(options: argparse.Namespace, found: Pool) -> int:
    draft = Draft(
        title=options.title,
        body=sys.stdin.read(LONGEST_BODY) if options.text is None else options.text,
        status=Status(options.status),
        world=options.world,
        policy=options.policy,
        knobs=tuple(options.knob),
        evidence=tuple(options.evidence),
        effect=options.effect,
        interval=None if options.interval is None else tuple(options.interval),
        window=options.window,
        supersedes=options.supersedes,
    )
    if not draft.body.strip():
        asking.misuse(
            "a lesson has a text (--text, or stdin): what was seen, done, found, what next"
        )
    if len(draft.body) > LONGEST_BODY:
        asking.misuse(f"the text has {len(draft.body)} characters, of at most {LONGEST_BODY}")
    today = datetime.date.today().isoformat()
    if options.dry_run:
        print(
            pool.render(draft, 1 + max((one.id for one in found.lessons), default=0), today=today)
        )
        return asking.FINE
    try:
        path = pool.add(options.experience / "lessons", draft, today=today, runs=options.runs)
    except Refused as error:
        print(f"nothing was written:\n{error}", file=sys.stderr)
        return asking.BLOCKED
    index.write(pool.read(path.parent), options.experience / "INDEX.md")
    if options.json:
        show_json({"written": str(path)}, lists=())
    else:
        print(f"written: {path}")
    return asking.FINE


def _index(options: argparse.Namespace, found: Pool) -> int:
    index.write(found, options.experience / "INDEX.md")
    for finding in found.refused:
        print(f"left out: {finding}", file=sys.stderr)
    return asking.BLOCKED if found.refused else asking.FINE


def _summary(one: Lesson, found: Pool, *, in_scope: bool) -> list[str]:
    effect = "" if one.effect is None else f"  effect {one.effect:+.3f}"
    if one.interval is not None:
        effect += f" [{one.interval.low:+.3f}, {one.interval.high:+.3f}]"
    about = ", ".join(fence.name(knob) for knob in one.knobs) or "nothing named"
    elsewhere = "" if in_scope else "  (learnt elsewhere)"
    lines = [
        f"lesson {one.id}: {one.status.value} ({one.status.grade}){effect}",
        f"  scope: world {fence.name(one.world)}, policy {fence.name(one.policy)}{elsewhere}; "
        f"about {about}",
    ]
    lines += [f"  doubt: {doubt}" for doubt in _doubts(one, found)]
    return [*lines, fence.fenced(one.title)]


def _as_json(one: Lesson, found: Pool, *, body: bool) -> dict[str, Any]:
    record = {
        "id": one.id,
        "status": one.status.value,
        "grade": one.status.grade,
        "title": fence.untrusted(one.title),
        "scope": {"world": fence.name(one.world), "policy": fence.name(one.policy)},
        "knobs": [fence.name(knob) for knob in one.knobs],
        "evidence": fence.plain(list(one.evidence)),
        "effect": one.effect,
        "interval": one.interval,
        "doubts": _doubts(one, found),
    }
    return record | ({"body": fence.untrusted(one.body, limit=12_000)} if body else {})


def _doubts(one: Lesson, found: Pool) -> list[str]:
    return doubts(one, found, today=datetime.date.today())


def _told(found: Pool) -> list[Any]:
    return [fence.untrusted(str(finding)) for finding in found.refused]


def _tell_refused(page: Page, found: Pool) -> None:
    refused: tuple[Finding, ...] = found.refused
    if refused:
        page.block(["not read:", fence.fenced("\n".join(map(str, refused)), limit=2000)])
