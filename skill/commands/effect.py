"""`effect`: what became of proposals, the gate's verdicts, and what to do next.

A verdict is quoted from the ledger and never computed here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from gate.contract import ledger, restarts
from gate.contract.paths import RunPaths
from skill import fence, standing
from skill.commands import asking
from skill.commands.page import Page, show_json
from skill.standing import Standing, State

EXAMPLE = "  effect.py latest\n  effect.py latest --proposal 7 --json"
MOST_TESTS = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Print proposals, open tests and verdicts; the exit status is 1 without a ledger to read."""
    made = asking.parser(
        "effect.py",
        "Show what became of every proposal: waiting, refused, under test, judged or taken back, "
        "with the gate's verdict and what to do next.",
        EXAMPLE,
        limit=12,
    )
    asking.add_run(made)
    made.add_argument("--proposal", type=int, help="only this one")
    options = made.parse_args(arguments)
    run = asking.run_of(options)
    step = standing.last_step(run) + 1
    try:
        found = standing.read(run, step=step)
    except ledger.Damaged as error:
        print(f"{error}", file=sys.stderr)
        return asking.BLOCKED
    if options.proposal is not None:
        found = tuple(one for one in found if one.number == options.proposal)
        if not found:
            print(f"there is no proposal {options.proposal}", file=sys.stderr)
            return asking.BLOCKED
    shown = found[-options.limit :]
    tests = standing.experiments(run, most=MOST_TESTS)
    if options.json:
        answer = {
            "step": step,
            "proposals": [_as_json(one) for one in shown],
            "tests": fence.plain(tests, depth=6),
            "restarts_asked": len(restarts.read(run)),
            "left_out_earlier": len(found) - len(shown),
            "next_step": _next_step(found, step),
        }
        show_json(answer, lists=("proposals", "tests"))
    else:
        _page(run, shown, tests, _next_step(found, step)).show()
    return asking.FINE


def _next_step(found: Sequence[Standing], step: int) -> str:
    for one in standing.open_ones(found):
        until = "" if one.window_ends is None else f" (until step {one.window_ends})"
        return f"proposal {one.number} is {one.state.value}{until}: {one.next_step}"
    if found and found[-1].state in (State.JUDGED, State.TAKEN_BACK):
        return f"proposal {found[-1].number} is {found[-1].state.value}: {found[-1].next_step}"
    return f"nothing is open at step {step}: diagnose, and propose one change or none"


def _as_json(one: Standing) -> dict[str, Any]:
    told = None
    if one.told is not None:
        told = {
            "verdict": fence.name(one.told.verdict),
            "because": fence.untrusted(one.told.because),
            "step": one.told.step,
            "effect": one.told.effect,
            "interval": one.told.interval,
            "window": one.told.window,
            "rolled_back_by": one.told.rolled_back_by,
            "ledger_seq": one.told.seq,
        }
    return {
        "proposal": one.number,
        "state": one.state.value,
        "step": one.step,
        "revision": one.revision,
        "author": fence.plain(one.author),
        "window_ends": one.window_ends,
        "changes": {
            fence.name(path): fence.plain(list(pair)) for path, pair in one.changes.items()
        },
        "refused_by": [fence.name(rule) for rule in one.rules],
        "verdict": told,
        "next_step": one.next_step,
    }


def _page(run: RunPaths, shown: Sequence[Standing], tests: Sequence[Any], next_step: str) -> Page:
    page = Page(deeper="ask for one with --proposal N")
    for one in shown:
        page.block(_lines(run, one))
    if not shown:
        page.add("no proposal yet")
    for test in tests:
        about = {key: test.get(key) for key in ("number", "proposal", "design", "power")}
        page.block(["test on file:", fence.fenced(str(fence.plain(about)), limit=400)])
    page.add(f"next: {next_step}")
    return page


def _lines(run: RunPaths, one: Standing) -> list[str]:
    at = "" if one.step is None else f", step {one.step}"
    revision = "" if one.revision is None else f", revision {one.revision}"
    lines = [f"proposal {one.number}: {one.state.value}{at}{revision}"]
    lines += [
        f"  {fence.name(path)}: {fence.plain(old)} -> {fence.plain(new)}"
        for path, (old, new) in one.changes.items()
    ]
    if one.rules:
        lines.append(f"  refused by {', '.join(map(fence.name, one.rules))}")
    if one.state is State.OPEN and one.window_ends is not None:
        lines.append(f"  window open until step {one.window_ends}")
    if one.told is not None:
        lines.append(
            f"  verdict {fence.name(one.told.verdict)} "
            f"(cite it as runs/{fence.name(run.root.resolve().name)}/ledger#{one.told.seq})"
        )
        lines.append(fence.barred(fence.visible(one.told.because)))
    return [*lines, f"  next: {one.next_step}"]
