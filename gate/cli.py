"""The gate's commands: check, apply, revert, set, and show what came into force.

Exit status: 0 it passed, 1 it was refused, 2 it was asked for wrongly.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Generator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from gate import checking, selftest, telling
from gate.contract import files, ledger, proposals
from gate.contract.experiments import Experiment
from gate.contract.findings import Finding, Refused
from gate.contract.knobs import tree
from gate.contract.ledger import EntryKind, Revision
from gate.contract.paths import RunPaths
from gate.effects.verdicts import Judgement
from gate.guard import applying, inspection, setting, standing

REFUSED = 1
RUNS = Path("runs")

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=(
        "Decide what comes into force in a run, and show what did.\n\n"
        "A RUN is a run's directory, its name under runs/, or 'latest'. What each knob means, its "
        "range and what makes tasks harder is written above it in its file and declared in "
        "gate/contract/knobs/*.schema.json.\n\n"
        "Exit status: 0 passed, 1 refused, 2 misuse."
    ),
)

STARTING = "knobs"
"""The folder of the starting set, which is checked where nothing is named."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
WaitS = Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for the run's lock.")]
Number = Annotated[int, typer.Argument(metavar="N", min=1, help="The proposal's number.")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's directory or name.")]


@app.command()
def check(
    target: Annotated[
        str, typer.Argument(metavar="[RUN|DIR]", help="A run, or a directory of knob files.")
    ] = STARTING,
    number: Annotated[
        int | None, typer.Option("--proposal", min=1, help="Check this proposal of the run.")
    ] = None,
    patch: Annotated[
        int | None, typer.Option(min=1, help="Try this patch of the code in a scratch copy.")
    ] = None,
    draft: Annotated[
        typer.FileBinaryRead | None,
        typer.Option(help="Check a proposal that is not submitted yet; - reads it from stdin."),
    ] = None,
    probe: Annotated[
        bool, typer.Option(help="Also probe the proposal, if it changes dialogues (seconds).")
    ] = True,
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Prove that every rule refuses what it must.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check knob files: a run's, against what is in force, or a directory's by themselves.

    Nothing is changed. For a run, and for a proposal of it, the answer is what the next step
    boundary would say, and open tests tell what they show so far; a proposal is probed. The check
    of a directory, as CI runs it, includes the worlds and lessons of its checkout and the
    self-test.

    Examples: 'gate check' (the starting set in knobs/), 'gate check latest --json',
    'gate check latest --proposal 7', 'gate check latest --draft new.yaml',
    'gate check latest --patch 7' (runs all tests), 'gate check --self-test'.
    """
    if self_test:
        _self_test(as_json)
    run = _find_run(target)
    if run is None and target == STARTING and (number or patch or draft):
        raise typer.BadParameter(
            "a proposal or a patch belongs to a run: name it first, as in "
            "'gate check latest --proposal 7'"
        )
    if patch is not None:
        found = checking.patch(_run(target), patch)
    elif draft is not None:
        run = _run(target)
        number, content = proposals.next_number(run), draft.read(proposals.LARGEST + 1)
        found = checking.proposal(run, number, content, worlds=_worlds_of(run), probe=probe)
    elif number is not None:
        run = _run(target)
        _known_proposal(run, number)
        content = proposals.read_draft(run, number)
        found = checking.proposal(run, number, content, worlds=_worlds_of(run), probe=probe)
    elif run is not None:
        found = inspection.inspect_run(run, worlds=_worlds_of(run))
    elif Path(target).is_dir():
        found = checking.directory(Path(target))
    else:
        raise typer.BadParameter(
            telling.visible(f"{target} is neither a run nor a directory of knob files")
        )
    _tell_inspection(found, _open_tests(run), as_json)
    raise typer.Exit(0 if found.passed else REFUSED)


@app.command()
def apply(
    name: RunName,
    number: Number,
    force: Annotated[
        bool, typer.Option("--force", help="Overrule difficulty; --reason is kept in the ledger.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Why it is overruled, in a sentence.")] = "",
    wait_s: WaitS = 10.0,
    as_json: AsJson = False,
) -> None:
    """Bring a proposal into force, also one that was refused before.

    A running trainer takes proposals up by itself; this is for a person who decides, and for a
    run that stands still. --force overrules difficulty alone. Never over an edit of a knob file
    that the run has not looked at.

    Examples: 'gate apply latest 7',
    'gate apply latest 7 --force --reason "the last steps were a bad batch"'.
    """
    run = _run(name)
    _known_proposal(run, number)
    if force != bool(reason.strip()):
        raise typer.BadParameter("--force and --reason belong together")
    with _refusals_told(as_json), checking.prober() as prober:
        made, warnings = applying.apply(
            run,
            number,
            worlds=_worlds_of(run),
            now=time.time(),
            timeout_s=wait_s,
            forced=reason.strip(),
            prober=prober,
        )
    _tell_revision(made, warnings, as_json)


@app.command()
def revert(
    name: RunName,
    number: Annotated[int, typer.Argument(metavar="REVISION", min=0, help="As in `gate log`.")],
    reason: Annotated[str, typer.Option(help="Why, in a sentence; it is kept in the ledger.")],
    wait_s: WaitS = 10.0,
    as_json: AsJson = False,
) -> None:
    """Take one revision back and nothing else; difficulty and pace do not stand in its way.

    Example: 'gate revert latest 3 --reason "success fell in both worlds"'.
    """
    run = _run(name)
    with _refusals_told(as_json):
        made = applying.revert(
            run,
            number,
            reason=reason,
            worlds=_worlds_of(run),
            now=time.time(),
            timeout_s=wait_s,
        )
    _tell_revision(made, (), as_json)


@app.command()
def log(
    name: RunName,
    as_json: AsJson = False,
    limit: Annotated[int, typer.Option(min=1, help="Show the newest entries only.")] = 50,
) -> None:
    """Show what came into force in a run, when, by whom and why, what was refused, and outcomes.

    Also says whether the ledger still hangs together; if not, the exit status is 1.

    Example: 'gate log latest --limit 10'.
    """
    run = _run(name)
    chain = ledger.verify(run.ledger)
    try:
        entries = ledger.entries(run.ledger)
    except ledger.Damaged as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(REFUSED) from error
    shown = [entry for entry in entries if entry.kind is not EntryKind.INTENT][-limit:]
    intents = {entry.revision: entry for entry in entries if entry.kind is EntryKind.INTENT}
    if as_json:
        _print_json(
            {
                "run": str(run.root),
                "chain_ok": chain.ok,
                "first_bad_line": chain.first_bad_line,
                "torn_lines": chain.torn,
                "entries": [telling.as_record(entry, intents) for entry in shown],
            }
        )
    else:
        for entry in shown:
            telling.line(entry, intents)
    if not chain.ok:
        typer.echo(
            f"{run.ledger}: line {chain.first_bad_line} does not follow from the line before; "
            "what stands from there on cannot be trusted: restore the ledger from a copy",
            err=True,
        )
        raise typer.Exit(REFUSED)


@app.command(name="set", context_settings={"ignore_unknown_options": True})  # `-0.1` is a value
def set_(
    name: RunName,
    path: Annotated[str, typer.Argument(help="The knob, as user.max_reveals.")],
    value: Annotated[str, typer.Argument(help="Its new value, as in the file or as JSON.")],
    reason: Annotated[str, typer.Option(help="Why, in a sentence; it is kept in the ledger.")],
    wait_s: WaitS = 10.0,
    as_json: AsJson = False,
) -> None:
    """Set one knob of a run; its file keeps its comments, and the run takes it up at its next step.

    Refused, with the file untouched: a value that the rules do not allow, a file that cannot be
    read, a file with an edit that the run has not looked at yet.

    Examples: 'gate set latest user.max_reveals 3 --reason "users repeat themselves"',
    'gate set latest user.worlds.travel.max_reveals 2 --reason "too easy there"'.
    """
    run = _run(name)
    with _refusals_told(as_json):
        made = setting.set_knob(
            run,
            path,
            _value(value),
            reason=reason,
            worlds=_worlds_of(run),
            now=time.time(),
            timeout_s=wait_s,
        )
    number = None if made.revision is None else made.revision.number
    if as_json:
        findings = [finding.to_json() for finding in made.warnings]
        _print_json({"revision": number, "findings": findings})
        return
    telling.findings(made.warnings)
    if number is None:
        typer.echo(f"{path} is {value} already; nothing was written")
    else:
        typer.echo(f"{path} is {value} from the next step on (revision {number})")


def main() -> None:
    """Run the command line."""
    app()


def _find_run(name: str) -> RunPaths | None:
    for root in (Path(name), RUNS / name):
        if (root / "ledger.jsonl").is_file():
            return RunPaths(root.resolve())
    return None


def _run(name: str) -> RunPaths:
    run = _find_run(name)
    if run is None:
        known = sorted(path.parent.name for path in RUNS.glob("*/ledger.jsonl"))[-5:]
        raise typer.BadParameter(
            telling.visible(f"no run {name}; known: {', '.join(known) or 'none in runs/'}"),
            param_hint="RUN",
        )
    return run


def _worlds_of(run: RunPaths) -> list[str]:
    return sorted({path.name for path in run.world.glob("*/*") if path.is_dir()})


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # the latter for brackets by the thousand
        return tree.resolve(text)


def _known_proposal(run: RunPaths, number: int) -> None:
    names = proposals.names(run)
    known = sorted({*proposals.numbers(names), *proposals.drafts(names)})
    if number not in known:
        told = ", ".join(map(str, known[-5:])) or "none"
        raise typer.BadParameter(f"{run.root} has no proposal {number}; known: {told}")


def _tell_inspection(
    found: inspection.Inspection,
    open_tests: tuple[tuple[Experiment, Judgement], ...],
    as_json: bool,
) -> None:
    if as_json:
        _print_json(
            {
                "target": found.target,
                "passed": found.passed,
                "revision": found.revision,
                "changes": [change.to_json() for change in found.changes],
                "findings": [finding.to_json() for finding in found.findings],
                "difference": found.difference,
                "probe": found.probe,
                "tests": [
                    {**test.to_json(), "now": str(judgement)} for test, judgement in open_tests
                ],
            }
        )
    else:
        telling.changes(found.changes)
        telling.difference(found.difference)
        telling.findings(found.findings)
        telling.tests(open_tests)
        telling.say("passed" if found.passed else "refused", before=f"{found.target}: ")


def _open_tests(run: RunPaths | None) -> tuple[tuple[Experiment, Judgement], ...]:
    """Return the open tests of a run; none of one whose ledger cannot be trusted."""
    if run is None or not ledger.verify(run.ledger).ok:
        return ()
    return standing.open_tests(run, worlds=_worlds_of(run))


def _self_test(as_json: bool) -> NoReturn:
    results = selftest.run()
    silent = selftest.findings(results)
    if as_json:
        _print_json({"passed": not silent, "results": [result.to_json() for result in results]})
    else:
        for result in results:
            told = ("passed", "refuses") if result.refused else ("refused", "LETS PASS")
            telling.say(told[0], f"  {result.rule} {told[1]} {result.what}")
        telling.findings(silent)
    raise typer.Exit(REFUSED if silent else 0)


@contextlib.contextmanager
def _refusals_told(as_json: bool) -> Generator[None]:
    """Tell why the block was refused, and end with that status."""
    try:
        yield
    except Refused as refused:
        if as_json:
            found = [finding.to_json() for finding in refused.findings]
            _print_json({"revision": None, "findings": found})
        else:
            telling.findings(refused.findings)
        raise typer.Exit(REFUSED) from refused
    except (files.LockBusy, files.DiskFull, ledger.Damaged) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(REFUSED) from error


def _tell_revision(made: Revision, warnings: tuple[Finding, ...], as_json: bool) -> None:
    if as_json:
        found = [finding.to_json() for finding in warnings]
        moved = [change.to_json() for change in made.changes]
        _print_json({"revision": made.number, "changes": moved, "findings": found})
        return
    telling.findings(warnings)
    telling.changes(made.changes)
    telling.say("committed", f": revision {made.number}, in force from the next step on")


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
