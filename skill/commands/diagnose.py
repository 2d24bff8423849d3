"""`diagnose`: what is probably wrong with a run, with whom, and where to look next.

A symptom is a suspicion with records. It says nothing about what a change did.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from skill import fence
from skill.commands import asking
from skill.commands.page import Page, show_json
from skill.diagnosis import blame, windows
from skill.diagnosis.detectors import DETECTORS, examine
from skill.diagnosis.symptoms import MOST_EVIDENCE, Symptom
from skill.diagnosis.windows import Window

EXAMPLE = "  diagnose.py latest\n  diagnose.py latest --json --limit 3"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print symptoms with evidence; the exit status is 1 when there is nothing to look at."""
    made = asking.parser(
        "diagnose.py",
        "Show what is probably wrong with a run: the party, the records that show it, and what "
        "to look at next. The first symptom is the one to follow first.",
        EXAMPLE,
        limit=6,
    )
    asking.add_run(made)
    options = made.parse_args(arguments)
    window = windows.read(asking.run_of(options), now=time.time())
    found = examine(window)
    if options.json:
        blamed = blame.shares(window.dialogues, blame.blame_all(window.dialogues))
        show_json(
            {
                "run": fence.name(window.run),
                "looked_at": _looked_at(window),
                "blame": {party.value: count for party, count in blamed.counts},
                "symptoms": [symptom.to_json() for symptom in found[: options.limit]],
                "more_symptoms": [symptom.name for symptom in found[options.limit :]],
            },
            lists=("symptoms",),
        )
    else:
        _page(window, found, options.limit).show()
    return asking.FINE if window.steps or window.episodes else asking.BLOCKED


def _page(window: Window, found: list[Symptom], limit: int) -> Page:
    page = Page(deeper="ask with a smaller --limit")
    page.add(_looked_at(window))
    if not found:
        page.add(f"no symptom: none of {len(DETECTORS)} detectors found anything")
    for symptom in found[:limit]:
        lines = [
            f"{symptom.name}  party: {symptom.party.value}",
            f"  {symptom.sentence}",
            *(f"  evidence: {fence.name(entry)}" for entry in symptom.evidence[:MOST_EVIDENCE]),
            f"  look next: {symptom.look_next}",
        ]
        if symptom.quote is not None:
            lines.append(fence.fenced(symptom.quote, limit=300))
        page.block(lines)
    if found[limit:]:
        page.add("more: " + ", ".join(symptom.name for symptom in found[limit:]))
    return page


def _looked_at(window: Window) -> str:
    steps = [record["step"] for record in window.steps if isinstance(record.get("step"), int)]
    span = f"steps {steps[0]} to {steps[-1]}" if steps else "no step"
    return (
        f"looked at {span}, {len(window.episodes)} episodes, {len(window.events)} events; "
        f"{window.torn} damaged lines, {window.mended} mended records"
    )
