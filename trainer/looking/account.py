"""An account of a step as a person reads it on a terminal.

Reasons and values come from files that anybody may write: they are text, whatever markup or
escapes they hold. This module reads nothing; what is told is `trainer.looking.why`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from trainer.looking.origin import Origin
from trainer.looking.trials import Trial
from trainer.looking.why import Account, Incident, Rate
from trainer.looking.wording import moved, spans, value
from trainer.show import visible

MOST_EVIDENCE = 6
"""Episodes that are named of what a proposal cites."""


def show(console: Console, found: Account) -> None:
    """Print an account."""
    head = f"step {found.step} of {found.last_step}"
    told = f"  revision {found.revision} in force, world {found.world_revision:04d}  "
    console.print(Text.assemble((head, "bold"), told, (found.run, "dim")))
    for heading, parts in _sections(found):
        console.print(Text(f"\n{heading}", style="bold"))
        for part in parts:
            console.print(Padding(part, (0, 0, 0, 2), expand=False), highlight=False)
    console.print(Text(f"\nread its dialogues: eau show {found.run} --step {found.step}", "dim"))
    for sentence in found.damage:
        console.print(Text(visible(sentence), style="bold red"))


def _sections(found: Account) -> Iterator[tuple[str, Iterable[RenderableType]]]:
    yield "played under", [_grid(_played(found))]
    if found.knobs:
        rows = [
            (one.path, f"{value(one.launch)} -> {value(one.value)}", f"since step {one.since}",
             f"revision {one.revision}")
            for one in found.knobs
        ]  # fmt: skip
        yield "knobs that differ from the launch", [_grid(rows)]
    else:
        yield "knobs", [Text("as at the launch")]
    if found.world:
        yield "worlds that differ from the launch", [_text(str(one)) for one in found.world]
    origins = [one for one in found.origins if one.revision]
    if origins:
        yield "who put it there, and why", [part for one in origins for part in _origin(one)]
    if found.tests:
        yield "tests open", [part for one in found.tests for part in _trial(one)]
    if found.rates:
        yield "learning rates", [_grid(map(_rate, found.rates))]
    if found.incidents:
        yield "incidents", [_grid(map(_incident, found.incidents))]
    else:
        yield "incidents", [Text("none")]


def _played(found: Account) -> Iterator[Sequence[str]]:
    for side in found.sides:
        revision = "?" if side.revision is None else str(side.revision)
        world = "" if side.world_revision is None else f"world {side.world_revision:04d}"
        spoiled = f", {side.quarantined} quarantined" if side.quarantined else ""
        shares = [one for one in found.success if one.side == side.side]
        told = [f"{one.arm} {one}" for one in shares] or ["no finished episode"]
        yield (
            side.side,
            f"revision {revision}",
            world,
            f"{side.started} started{spoiled}",
            told[0],
        )
        for more in told[1:]:
            yield ("", "", "", "", more)


def _origin(one: Origin) -> Iterator[RenderableType]:
    yield Text.assemble(
        (f"revision {one.revision}", "bold magenta"), f", step {one.step}: ", visible(str(one))
    )
    files_of = f"files of {', '.join(one.worlds)}" if one.worlds else ""
    told = {
        "changes": ", ".join(part for part in (moved(one.changes), files_of) if part),
        "why": one.reason,
        "forced": one.forced or "",
        "evidence": _evidence(one.evidence),
        "expected": " ".join(str(part) for part in one.expected.values()),
    }
    yield _grid((f"  {name}", words) for name, words in told.items() if words)


def _evidence(cited: Mapping[str, Any]) -> str:
    steps, episodes = cited.get("steps") or [], cited.get("episodes") or []
    parts: list[str] = []
    if steps:
        parts.append(f"steps {spans(steps)}")
    if episodes:
        more = f" and {len(episodes) - MOST_EVIDENCE} more" if len(episodes) > MOST_EVIDENCE else ""
        parts.append(f"episodes {', '.join(map(str, episodes[:MOST_EVIDENCE]))}{more}")
    return "; ".join(parts)


def _trial(one: Trial) -> Iterator[RenderableType]:
    design = one.design.replace("_", " ")
    since = f": {design}, open since step {one.opened}" if design else ""
    against = f" of revision {one.revision} against {one.old_revision}{since}"
    yield Text.assemble((f"test {one.number}", "bold magenta"), visible(against))
    told = {"by then": one.says}
    if one.difference is not None:
        told["so far"] = (
            f"{one.difference:+.3f} ({one.low:+.3f} to {one.high:+.3f}), which is no verdict"
        )
    if one.harm is not None:
        told["evidence"] = f"of harm {one.harm:.2g}" + (
            "" if one.help is None else f", of help {one.help:.2g}"
        ) + f"; {one.limit:g} suffices"  # fmt: skip
    if one.verdict is not None:
        told["later"] = f"{one.verdict}, told at step {one.closed}"
    yield _grid((f"  {name}", words) for name, words in told.items())


def _rate(one: Rate) -> Sequence[str]:
    requested = "?" if one.requested is None else f"{one.requested:.3g}"
    used = "no update" if one.used is None else f"{one.used:.3g}"
    alike = one.requested == one.used
    return (
        one.name,
        f"requested {requested}",
        f"used {used}" + ("" if alike else ", by its schedule"),
    )


def _incident(one: Incident) -> Sequence[str]:
    return one.kind, f"{one.count}x", value(one.first)


def _grid(rows: Iterable[Sequence[str]]) -> Table:
    """Return rows in columns; the last one takes the room that is left and wraps."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        while len(grid.columns) < len(row):
            grid.add_column(overflow="fold")
        grid.add_row(*map(_text, row))
    return grid


def _text(words: str) -> Text:
    return Text(visible(words))
