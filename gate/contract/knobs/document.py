"""`docs/knobs.md`, generated from the schemas, so that no knob goes undocumented."""

from __future__ import annotations

from gate.contract.knobs.rendering import inline, span
from gate.contract.knobs.spec import FILES, Harder, KnobSpec, Scope, keys, schema, specs
from gate.contract.knobs.text import END

LIVE = {
    Scope.ROLLOUT: "from the next step's episodes",
    Scope.LEARNER: "from the next step's update",
    Scope.WORLD: "from the next step, in new worker processes",
}
"""When a new value is in force, by the scope of its knob."""

_INTRODUCTION = f"""\
# Knobs

<!-- Generated from gate/contract/knobs/*.schema.json by `make docs`; edit those. -->

A knob is a value that can change while a run is live. The four files in `runs/<id>/knobs/` hold
the desired values; at each step boundary the trainer takes up what changed, or refuses the whole
file and says so with line and column while the last good values stay in force. `knobs/` at the
top of the repository is the starting set for new runs: each begins with a copy of it, and whoever
edits it while a run is live is told on the run's terminal where the live files are. `eau train
--starting-knobs DIR` copies another folder.

- **Whole.** Every knob of a file must be there, and the last line must be `{END}`. A file cut
  anywhere while it is being saved lacks that line and is not taken for a value.
- **Refused, never clamped.** A value outside its range, of another type or not finite is refused.
- **Plain YAML.** No anchors, aliases, merge keys, tags or repeated keys. `1e-5` is a number.
- **Per world.** Under `worlds:`, a world's name and the knobs that differ there, where the table
  says so. A world that the run does not have is an error.
- **Step limit** is how far one write may move a knob; **lag** is the number of training steps
  until an effect can be expected.
"""

_WATCHING = """\
## Watching a folder of your own

`eau train RECIPE --knobs DIR` makes a run watch `DIR`, such as the repository's own `knobs/`, in
place of a copy: what is saved there is in force one step later, and what the gate applies or takes
back is written there. `runs/<id>/knobs` is then a link to it, so every command and page that names
that place still holds, and `run.yaml` records where it leads. A link that the record does not name
is never written through.

- **The files count.** A recipe that begins with other values than the files hold is refused, each
  with its line: write them into the files, or let the files count with `--set knobs={}`.
- **One live run a folder.** The run keeps the mark `.watched-by` in it, locked for as long as it
  lives; a second one is refused at launch and resume, and `gate` writes nothing there for a run
  that ended.
- **A folder that goes away**, or cannot be read, leaves the values in force and is told at every
  step until it is back; what the gate wanted to write waits. A resume goes on without it as well.
- **Edited while the run was down** is edited by hand: looked at by the first step after the
  resume.
- **Other runs.** Twins and the launches of `eau iterate` have files of their own, whatever their
  parent watches. The folder may not lie in `runs/` or `experience/`, where a meta-agent writes;
  its fence keeps `DIR` read-only, as it does the run. Codex started by hand may write in `/tmp`:
  keep it out of there.
- **To stop watching**, put a folder with the four files in the place of the link.
"""

_HOW_TO_ADD = """\
## How to add a knob

1. Declare it in `gate/contract/knobs/<file>.schema.json` under `properties`, with all keywords of
   its neighbours: type, range, `default`, `x-scope`, `x-harder`, `x-max-step`, `x-lag-steps`,
   `x-proximal`, `x-distal`, `x-worlds` and a `description` of one or two sentences; `x-credit`
   lists the credit estimators that read it, where not all do.
2. Name it in the file's `required` list, and under `worlds` if single worlds may differ.
3. Read it where it acts: `knobs.get("<file>.<name>", world)`.
4. Run `make docs`: the starting set in `knobs/` and this page are written anew.
5. Run `make test`: every test over `knobs.specs()` now covers it.
"""


def markdown() -> str:
    """Return the page: one table for each file, then how to watch a folder and to add a knob."""
    parts = [_INTRODUCTION]
    for file in FILES:
        parts.append(f"## {schema(file)['title']}\n\n{_table(file)}")
    return "\n".join([*parts, _WATCHING, _HOW_TO_ADD])


def _table(file: str) -> str:
    names = ("knob", "values", "default", "harder", "per write", "lag", "per world", "in force")
    rows = [names, ("---",) * len(names)]
    described: list[str] = []
    for key in keys(file):
        spec = specs()[f"{file}.{key}"]
        rows.append(_row(spec))
        described.append(
            f"- `{spec.path}` ({spec.type}, {spec.scope}): {spec.description} "
            f"Watch `{spec.proximal}`{_distal(spec)}.{_credit(spec)}"
        )
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return table + "\n\n" + "\n".join(described) + "\n"


def _row(spec: KnobSpec) -> tuple[str, ...]:
    return (
        f"`{spec.path}`",
        span(spec).replace("|", "\\|"),
        f"`{inline(spec.default)}`",
        "" if spec.harder is Harder.NONE else str(spec.harder),
        str(spec.max_step),
        f"{spec.lag_steps}",
        "yes" if spec.worlds else "no",
        LIVE[spec.scope],
    )


def _credit(spec: KnobSpec) -> str:
    """Return under which estimators a knob acts; nothing for one that acts under all."""
    if not spec.credit:
        return ""
    names = ", ".join(f"`{name}`" for name in spec.credit)
    return f" It acts where the recipe's `learner.credit` is {names}; elsewhere it is refused."


def _distal(spec: KnobSpec) -> str:
    return "" if spec.distal == "none" else f", then `{spec.distal}`"
