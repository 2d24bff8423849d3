"""`propose`: ask for a change, with evidence, the effect that would prove it right, and a window.

The gate is asked first: what it would refuse is not submitted, and its findings say what to do.
Under a supervisor that only watches nothing is submitted; under one that proposes, a draft is.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from gate.contract import proposals
from gate.contract.files import DiskFull
from gate.contract.knobs import tree
from gate.contract.paths import RunPaths
from skill import fence, proposing
from skill.commands import asking
from skill.commands.page import Page, show_json
from skill.diagnosis import windows
from skill.diagnosis.detectors import examine
from skill.proposing import Autonomy, GateSilent, Wish

EXAMPLE = (
    "  propose.py latest --symptom deadlock --set user.min_questions=1 --author claude\n"
    '  propose.py latest --why "users repeat themselves" --step 40 --set user.max_reveals=3 \\\n'
    "      --expect success:up:0.05 --window 20 --author codex --wait 60\n"
    '  propose.py latest --candidate --why "..." --episode 000040-05 --author claude --dry-run\n'
    '  propose.py latest --world travel --why "..." --episode 000040-05 --false-verdict '
    "000040-05=1 --author claude"
)
POLL_S = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Check and submit one proposal; the exit status is 1 when the gate would refuse it."""
    options = _parser().parse_args(arguments)
    run = asking.run_of(options)
    level = proposing.autonomy(os.environ)
    if level is Autonomy.WATCH and not options.dry_run:
        print(
            "this tick only watches: put what you would propose into your report", file=sys.stderr
        )
        return asking.BLOCKED
    content = proposing.render(_wish(options, run))
    try:
        checked = proposing.check(run, content)
    except GateSilent as error:
        print(str(error), file=sys.stderr)
        return asking.BLOCKED
    draft = options.draft or level is Autonomy.PROPOSE
    answer: dict[str, Any] = {
        "passed": checked.passed,
        "proposal": None,
        "draft": draft,
        "submitted": False,
        "changes": fence.plain(list(checked.changes), depth=8),
        "findings": list(checked.findings),
        "decision": None,
        "next_step": _next_step(checked.passed, options.dry_run, draft),
    }
    if checked.passed and not options.dry_run:
        try:
            answer["proposal"] = proposing.submit(run, content, draft=draft)
        except (DiskFull, ValueError) as error:
            print(str(error), file=sys.stderr)
            return asking.BLOCKED
        answer["submitted"] = True
        if not draft:
            answer["decision"] = _wait(run, answer["proposal"], options.wait)
    _tell(options, answer, content)
    return asking.FINE if checked.passed else asking.BLOCKED


def _parser() -> argparse.ArgumentParser:
    made = asking.parser(
        "propose.py",
        "Ask for one change. The gate is asked before anything is submitted; a running trainer "
        "then decides at its next step, and `effect.py` tells what became of it.",
        EXAMPLE,
        limit=12,
    )
    asking.add_run(made)
    what = made.add_argument_group("what to change")
    what.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", help="a knob; repeat for more"
    )
    what.add_argument(
        "--candidate", action="store_true", help="take what candidate/knobs/*.yaml change"
    )
    what.add_argument(
        "--world", action="append", default=[], help="take up candidate/world/NAME, or 'all'"
    )
    what.add_argument(
        "--take-back", type=int, metavar="REVISION", help="take this revision back, nothing else"
    )
    why = made.add_argument_group("why")
    why.add_argument("--why", default="", help="what was seen, and why this should help")
    why.add_argument("--symptom", help="take why and evidence from this symptom of diagnose.py")
    why.add_argument("--step", action="append", type=int, default=[], help="a step that shows it")
    why.add_argument("--episode", action="append", default=[], help="an episode that shows it")
    why.add_argument(
        "--false-verdict",
        action="append",
        default=[],
        metavar="EPISODE=VERDICT",
        help="a verdict that an edited verifier should mend, as 000040-05=1",
    )
    effect = made.add_argument_group("effect")
    effect.add_argument(
        "--expect", default="success:up:0.05", help="METRIC:up|down:SIZE (default: %(default)s)"
    )
    effect.add_argument("--window", type=int, help="steps that nothing else should change")
    effect.add_argument("--concurrent", action="store_true", help="may join an open window")
    effect.add_argument("--if-inconclusive", choices=("keep", "revert"), help="what then")
    effect.add_argument("--way-back", action="append", default=[], metavar="PATH=VALUE")
    effect.add_argument("--supersedes", type=int, help="the proposal that this one replaces")
    made.add_argument("--author", default="meta-agent", help="claude, codex, operator, ...")
    made.add_argument("--draft", action="store_true", help="leave it for a person to apply")
    made.add_argument("--dry-run", action="store_true", help="ask the gate and submit nothing")
    made.add_argument(
        "--wait", type=float, default=0.0, help="seconds to wait for the trainer's decision"
    )
    return made


def _wish(options: argparse.Namespace, run: RunPaths) -> Wish:
    changes = _values(options.set, "--set")
    asked = bool(changes) or options.candidate or bool(options.world)
    if not asked and options.take_back is None:
        asking.misuse(
            "nothing to propose: give --set PATH=VALUE, --candidate, --world NAME or "
            "--take-back REVISION"
        )
    if asked and options.take_back is not None:
        asking.misuse("--take-back takes a revision back and nothing else; make two proposals")
    if changes and options.candidate:
        asking.misuse("--set and --candidate are two ways to say one thing; give one of them")
    why, steps, episodes = options.why, tuple(options.step), tuple(options.episode)
    if options.symptom:
        why, steps, episodes = _from_symptom(options, run)
    if not why.strip():
        asking.misuse("--why says what was seen and why this should help; or give --symptom NAME")
    if not steps and not episodes:
        asking.misuse("cite what shows it: --step N, --episode ID, or --symptom NAME")
    metric, direction, size = _expected(options.expect)
    return Wish(
        why=why,
        author=options.author,
        changes=changes or None,
        steps=steps[:20],
        episodes=episodes[:20],
        metric=metric,
        direction=direction,
        size=size,
        window=options.window or proposing.window_for(changes),
        more=_more(options),
    )


def _from_symptom(
    options: argparse.Namespace, run: RunPaths
) -> tuple[str, tuple[int, ...], tuple[str, ...]]:
    found = {one.name: one for one in examine(windows.read(run, now=time.time()))}
    symptom = found.get(options.symptom)
    if symptom is None:
        known = ", ".join(found) or "none"
        asking.misuse(f"no symptom {options.symptom!r} in this run now; there are: {known}")
    why = f"{symptom.name}: {symptom.sentence} {options.why}".strip()
    steps = (*options.step, *symptom.cited.steps)
    return why, steps, (*options.episode, *symptom.cited.episodes)


def _expected(text: str) -> tuple[str, str, float]:
    metric, _, rest = text.partition(":")
    direction, _, size = rest.partition(":")
    try:
        return metric, direction, float(size)
    except ValueError:
        asking.misuse(f"--expect {text!r} is not METRIC:up|down:SIZE, as success:up:0.05")


def _more(options: argparse.Namespace) -> dict[str, Any]:
    verdicts = _values(options.false_verdict, "--false-verdict")
    worlds: Any = True if options.world == ["all"] else options.world
    named = {
        "world": worlds or None,
        "false_verdicts": [{"episode": one, "should_be": verdicts[one]} for one in verdicts]
        or None,
        "concurrent": options.concurrent or None,
        "if_inconclusive": options.if_inconclusive,
        "way_back": _values(options.way_back, "--way-back") or None,
        "reverts": options.take_back,
        "supersedes": options.supersedes,
    }
    return {key: value for key, value in named.items() if value is not None}


def _values(pairs: Sequence[str], flag: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals:
            asking.misuse(f"{flag} {pair!r} is not PATH=VALUE, as user.max_reveals=3")
        try:
            found[path.strip()] = json.loads(text)
        except (ValueError, RecursionError):  # the latter for brackets by the thousand
            found[path.strip()] = tree.resolve(text)
    return found


def _wait(run: RunPaths, number: int, seconds: float) -> Any:
    """Return what the trainer decided, if it does so in time; a paused one never does."""
    end = time.monotonic() + seconds
    while (told := proposing.decision(run, number)) is None and time.monotonic() < end:
        time.sleep(POLL_S)
    if told is None:
        return None
    return {key: told.get(key) for key in ("verdict", "step", "revision", "findings")}


def _next_step(passed: bool, dry_run: bool, draft: bool) -> str:
    if not passed:
        return "mend what the findings name, and propose again; after two refusals, stop and report"
    if dry_run:
        return "run it again without --dry-run"
    if draft:
        return "a person applies it: gate apply RUN N"
    return "the trainer decides at its next step; then change nothing until the window is over"


def _tell(options: argparse.Namespace, answer: dict[str, Any], content: bytes) -> None:
    if options.json:
        show_json(answer, lists=("findings", "changes"))
        return
    page = Page(deeper="ask with --json")
    shown = answer["findings"][: options.limit]
    page.add("the gate would let it pass" if answer["passed"] else "the gate would refuse it")
    page.add(*(f"  {one['severity']}: {one['message']} {one['next_step']}" for one in shown))
    if answer["submitted"]:
        number, kind = answer["proposal"], "draft" if answer["draft"] else "proposal"
        page.add(f"submitted: {kind} {number} ({proposals.name_of(number)})")
    else:
        page.block(["not submitted:", fence.fenced(content.decode(), limit=4000)])
    if answer["decision"] is not None:
        page.add(f"the trainer: {answer['decision']['verdict']}")
    page.add(f"next: {answer['next_step']}")
    page.show()
