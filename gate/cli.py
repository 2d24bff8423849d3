"""The gate's commands: check knob files, show what came into force, set one knob.

Exit status: 0 it passed, 1 it was refused, 2 it was asked for wrongly.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from gate.contract import files, knobs, ledger
from gate.contract.findings import Finding, Refused
from gate.contract.knobs import tree
from gate.contract.ledger import Entry, EntryKind
from gate.contract.paths import RunPaths
from gate.guard import inspection, setting

REFUSED = 1
RUNS = Path("runs")
WORLDS = Path(__file__).parent.parent / "trainer" / "worlds"

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

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's directory or name.")]


@app.command()
def check(
    target: Annotated[
        str, typer.Argument(metavar="[RUN|DIR]", help="A run, or a directory of knob files.")
    ] = "knobs",
    as_json: AsJson = False,
) -> None:
    """Check knob files: a run's, against what is in force, or a directory's by themselves.

    Nothing is changed. For a run the answer is what the next step boundary would say.

    Examples: 'gate check' (the starting set in knobs/), 'gate check latest --json'.
    """
    run = _find_run(target)
    if run is not None:
        found = inspection.inspect_run(run, worlds=_worlds_of(run))
    elif Path(target).is_dir():
        found = inspection.inspect_directory(Path(target), worlds=_all_worlds())
    else:
        raise typer.BadParameter(f"{target} is neither a run nor a directory of knob files")
    if as_json:
        _print_json(
            {
                "target": found.target,
                "passed": found.passed,
                "revision": found.revision,
                "changes": [change.to_json() for change in found.changes],
                "findings": [finding.to_json() for finding in found.findings],
            }
        )
    else:
        for change in found.changes:
            typer.echo(f"{change.path}: {change.old} -> {change.new}")
        _tell(found.findings)
        typer.echo(f"{found.target}: {'passed' if found.passed else 'refused'}")
    raise typer.Exit(0 if found.passed else REFUSED)


@app.command()
def log(
    name: RunName,
    as_json: AsJson = False,
    limit: Annotated[int, typer.Option(min=1, help="Show the newest entries only.")] = 50,
) -> None:
    """Show what came into force in a run, when, by whom and why, and what was refused.

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
                "entries": [_as_record(entry, intents) for entry in shown],
            }
        )
    else:
        for entry in shown:
            typer.echo(_as_text(entry, intents))
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
    wait_s: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait for the run's lock.")
    ] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Set one knob of a run; its file keeps its comments, and the run takes it up at its next step.

    Refused, with the file untouched: a value that the rules do not allow, a file that cannot be
    read, a file with an edit that the run has not looked at yet.

    Examples: 'gate set latest user.max_reveals 3 --reason "users repeat themselves"',
    'gate set latest user.worlds.travel.max_reveals 2 --reason "too easy there"'.
    """
    run = _run(name)
    try:
        made = setting.set_knob(
            run,
            path,
            _value(value),
            reason=reason,
            worlds=_worlds_of(run),
            now=time.time(),
            timeout_s=wait_s,
        )
    except Refused as refused:
        if as_json:
            findings = [finding.to_json() for finding in refused.findings]
            _print_json({"revision": None, "findings": findings})
        else:
            _tell(refused.findings)
        raise typer.Exit(REFUSED) from refused
    except (files.LockBusy, files.DiskFull, ledger.Damaged) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(REFUSED) from error
    number = None if made.revision is None else made.revision.number
    if as_json:
        findings = [finding.to_json() for finding in made.warnings]
        _print_json({"revision": number, "findings": findings})
        return
    _tell(made.warnings)
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
            f"no run {name}; known: {', '.join(known) or 'none in runs/'}", param_hint="RUN"
        )
    return run


def _worlds_of(run: RunPaths) -> list[str]:
    return sorted({path.name for path in run.world.glob("*/*") if path.is_dir()})


def _all_worlds() -> list[str]:
    return sorted(path.parent.name for path in WORLDS.glob("*/world.yaml"))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return tree.resolve(text)


def _tell(findings: tuple[Finding, ...]) -> None:
    for finding in findings:
        typer.echo(f"{finding.severity}: {finding}")


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def _as_record(entry: Entry, intents: dict[int | None, Entry]) -> dict[str, Any]:
    intent = intents.get(entry.revision) if entry.kind is EntryKind.COMMITTED else None
    body = {**(intent.body if intent is not None else {}), **entry.body}
    return {"kind": str(entry.kind), "step": entry.step, "time": entry.time, **body}


def _as_text(entry: Entry, intents: dict[int | None, Entry]) -> str:
    record = _as_record(entry, intents)
    lines = [f"step {entry.step}  {entry.kind}  revision {record.get('revision')}"]
    if "author" in record:
        why = f": {record['reason']}" if record["reason"] else ""
        lines[0] += f"  {record['origin']} by {record['author']}{why}"
    for change in record.get("changes", ()):
        moved = knobs.KnobChange.from_json(change)
        lines.append(f"    {moved.path}: {moved.old} -> {moved.new}")
    lines += [f"    {Finding.from_json(finding)}" for finding in record.get("findings", ())]
    return "\n".join(lines)
