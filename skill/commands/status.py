"""`status`: how a run is, blame first.

The order is what a reader needs: who is to blame for the failures, health, knobs in force, open
questions, and whether evaluation is protected.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from typing import Any

from skill import fence
from skill.commands import asking
from skill.commands.page import Page, show_json
from skill.diagnosis import windows
from skill.overview import overview

EXAMPLE = "  status.py latest\n  status.py runs/2026-03-01-a --json --limit 5"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the state of a run; the exit status is 1 when it has no records yet."""
    made = asking.parser(
        "status.py",
        "Show how a run is: blame for its failures, health, knobs in force, open questions, and "
        "whether evaluation is protected.",
        EXAMPLE,
        limit=12,
    )
    asking.add_run(made)
    options = made.parse_args(arguments)
    paths = asking.run_of(options)
    window = windows.read(paths, now=time.time())
    found = overview(window, paths, os.environ)
    found["questions"] = found["questions"][: options.limit]
    if options.json:
        show_json(found, lists=("questions",))
    else:
        _page(found).show()
    return asking.FINE if window.steps or window.status else asking.BLOCKED


def _page(found: dict[str, Any]) -> Page:
    page = Page(deeper="ask for one part with --json, or with a smaller --limit")
    page.add(*_blame(found["blame"]), *_health(found["run"], found["health"]))
    _texts(page, "the run says why", found["health"]["reason"])
    if fence.texts_of(found["health"]["told_by_the_run"]):
        _texts(page, "told by the run", found["health"]["told_by_the_run"])
    page.add(*_knobs(found["knobs"]))
    for name, value in _worded(found["knobs"]["in_force"]):
        _texts(page, name, value)
    _texts(page, "refused, word by word", found["knobs"]["refused"])
    page.add("questions:", *(f"  - {one}" for one in found["questions"] or ["none"]))
    page.add(*_evaluation(found["evaluation"]))
    _texts(page, "not protected, the run says", found["evaluation"]["told_by_the_run"])
    return page


def _blame(found: dict[str, Any]) -> list[str]:
    shares = "  ".join(f"{party} {share:.0%}" for party, share in found["shares"].items())
    lines = [
        f"blame: {shares or 'nobody'}  "
        f"({found['failed']} failed of the newest {found['episodes']} episodes)"
    ]
    if found["reasons"]:
        told = ", ".join(f"{reason} {count}" for reason, count in found["reasons"].items())
        lines.append(f"  reasons: {told}")
    lines += [f"  {party}: see {place}" for party, place in found["newest_example"].items()]
    return lines


def _health(run: str, found: dict[str, Any]) -> list[str]:
    age = found["heartbeat_age_s"]
    lines = [
        f"health: run {run}, {found['phase']} ({found['stage']}), step {_number(found['step'])} of "
        f"{_number(found['total_steps'])}, heartbeat {'unknown' if age is None else f'{age:.0f} s'}"
        " ago",
        f"  success {_number(found['success_last_10'])} over the last 10 steps, "
        f"{_number(found['success_10_before'])} over the 10 before; reward "
        f"{_number(found['reward_last_10'])}; quarantined {_number(found['quarantined_last_10'])}",
    ]
    told = found["told_by_the_run"]
    if told and not fence.texts_of(told):
        lines.append(f"  told by the run: {json.dumps(told)}")
    if found["damaged_lines"] or found["mended_records"]:
        lines.append(
            f"  of the lines read, {found['damaged_lines']} hold no record and "
            f"{found['mended_records']} were mended"
        )
    return lines + [f"  not read: {note}" for note in found["unread"]]


def _knobs(found: dict[str, Any]) -> list[str]:
    changed = ", ".join(found["changed"][:12]) or "none"
    lines = [f"knobs: revision {_number(found['revision'])}; changed since launch: {changed}"]
    for file, values in found["in_force"].items():
        told = (f"{key}={_value(value)}" for key, value in values.items())
        lines.append(f"  {file}: {' '.join(told)}")
    since = found["in_force_since"]
    if since:
        lines.append("  since step: " + ", ".join(f"{key} {step}" for key, step in since.items()))
    return lines


def _value(value: Any) -> str:
    return "(text below)" if fence.texts_of(value) else json.dumps(value)


def _worded(in_force: dict[str, Any]) -> list[tuple[str, Any]]:
    """Knobs whose value holds words, with their dotted names."""
    return [
        (f"{file}.{key}", value)
        for file, values in in_force.items()
        for key, value in values.items()
        if fence.texts_of(value)
    ]


def _evaluation(found: dict[str, Any]) -> list[str]:
    if found["protected"]:
        return ["evaluation: not readable from here"]
    readable = found["readable_from_here"]
    why = f"{' and '.join(readable)} can be read from here" if readable else "the run says so"
    return [f"evaluation: NOT PROTECTED ({why}); do not look at it, and say so in your report"]


def _texts(page: Page, title: str, value: Any) -> None:
    """Show what others wrote, fenced; nothing for nothing."""
    if value:
        text = json.dumps(value, ensure_ascii=True, indent=1)
        page.block([f"  {title}:", fence.fenced(text, limit=2000)])


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
