"""What a grid amounts to: means over seeds with intervals, and what could have been seen at all.

Seeds are paired: a difference between two supports is taken seed by seed. Pure values in, text
out; how cells are run is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from statistics import fmean, stdev

from gate.contract import files
from trainer import documents
from trainer.figure import curves_svg
from trainer.grid import TRIALS, Result
from trainer.grid_cells import CONDITIONS, FAULT_AT, METHODS, SUPPORTS, USERS, WORLDS, cells
from trainer.student import detectable, quantile

BLOCK = "grid"
SEEDS = max(world.num_seeds for world in WORLDS.values())
"""Seeds of the whole grid."""
HEAD = 3
"""Lines of a table before its first row."""
FIGURES = Path("figures")
"""Folder of the mean learning curves, beside the document."""
EQUAL = 0.05
"""Cells whose tokens differ by a larger share than this were not trained for equally long."""

NAMES = {
    "ppo": "PPO",
    "grpo": "GRPO",
    "faca": "Faca",
    "userrl": "UserRL",
    "infopo": "InfoPO",
    "symbolic": "symbolic alone (epsilon 1)",
    "noisy": "noisy alone (epsilon 0)",
    "mix25": "mix, epsilon .25",
    "mix50": "mix, epsilon .5",
    "mix75": "mix, epsilon .75",
}


def markdown(results: Sequence[Result]) -> str:
    """Return the tables of a grid and what they do not show."""
    if not results:
        return "No cell of the grid has been run yet.\n"
    whole = sum(1 for _ in cells(range(SEEDS)))
    shares = ", ".join(
        f"{len(_pick(results, world=name))} in `{name}` of {world.num_seeds} seeds"
        for name, world in WORLDS.items()
    )
    parts = [
        f"{len(results)} of the {whole} cells have been run: {shares}. Pinned evaluation of "
        f"{TRIALS} episodes a held-out task. Mean over seeds with the 95% interval of Student's t; "
        "differences are paired by seed, and beside that of EAU stands the smallest difference "
        "that four tests in five would have found.\n",
        *(part for world in WORLDS for part in _of_world(results, world)),
        cost(results),
    ]
    return "\n".join(part for part in parts if part)


def _of_world(results: Sequence[Result], world: str) -> list[str]:
    mine = _pick(results, world=world)
    if not mine:
        return []
    seeds = sorted({one.cell.seed for one in mine})
    return [
        f"### In `{world}`\n",
        f"Seeds {', '.join(map(str, seeds))}; {WORLDS[world].budget_tokens:,} tokens of the policy "
        f"a cell; the policies that cells begin with succeed in {_starts(mine)}.{_unequal(mine)}\n",
        *(methods(mine, world, condition) for condition in CONDITIONS),
        users(mine),
        f"![Training success by step in {world}]({_figure(world).as_posix()})\n",
    ]


def methods(results: Sequence[Result], world: str, condition: str) -> str:
    """Return the table of one world and condition, methods by support; empty without any."""
    told = (
        "in a clean world"
        if condition == "clean"
        else f"with a fault planted at step {FAULT_AT} ({WORLDS[world].fault})"
    )
    lines = [
        f"Methods {told}:\n",
        "| method | alone | naive | EAU | naive less alone | EAU less alone | could be seen | "
        "verdicts |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for method in METHODS:
        mine = _pick(results, world=world, method=method, user="symbolic", condition=condition)
        if not mine:
            continue
        alone, eau, naive = (_pick(mine, support=name) for name in ("alone", "eau", "naive"))
        verdicts = ", ".join(sorted(word for one in eau for word in one.verdicts)) or "none"
        lines.append(
            f"| {NAMES[method]} | {_mean(alone)} | {_mean(naive)} | {_mean(eau)} | "
            f"{_difference(alone, naive)} | {_difference(alone, eau)} | {_smallest(alone, eau)} | "
            f"{verdicts} |"
        )
    return "\n".join([*lines, ""]) if len(lines) > HEAD else ""


def users(results: Sequence[Result]) -> str:
    """Return the ablation of users: PPO with knobs fixed, and with knobs evolved; or nothing."""
    lines = [
        "Who plays the user in training (PPO, a clean world; evaluated with the symbolic user):\n",
        "| user | knobs fixed | knobs evolved | difference | could be seen |",
        "|---|---|---|---|---|",
    ]
    if not any(one.cell.user in USERS for one in results):
        return ""
    for user in ("symbolic", *USERS):
        mine = _pick(results, method="ppo", user=user, condition="clean")
        alone, eau = (_pick(mine, support=name) for name in ("alone", "eau"))
        if mine:
            lines.append(
                f"| {NAMES[user]} | {_mean(alone)} | {_mean(eau)} | {_difference(alone, eau)} | "
                f"{_smallest(alone, eau)} |"
            )
    return "\n".join([*lines, ""]) if len(lines) > HEAD else ""


def cost(results: Sequence[Result]) -> str:
    """Return what the co-evolution cost, in a sentence."""
    mine = _pick(results, support="eau")
    if not mine:
        return ""
    share = fmean(one.meta_agent_s / max(60 * one.minutes, 1e-9) for one in mine)
    return (
        f"The operator's ticks took {fmean(one.meta_agent_s for one in mine):.0f} s of a run, "
        f"{share:.0%} of the time of its training steps, in a process of their own, and "
        f"{sum(one.meta_agent_usd for one in mine):.2f} USD: it is a set of rules and asks no "
        f"model. Changes that it brought into force: {sum(one.interventions for one in mine)} in "
        f"{len(mine)} runs; changes that a verdict took back: "
        f"{sum(one.taken_back for one in mine)}. {_inert(results)}\n"
    )


def _inert(results: Sequence[Result]) -> str:
    """Return in how many runs with EAU training went as it did alone, in a sentence."""
    alone = {one.cell: one.curve for one in results}
    pairs = [
        (one, alone.get(replace(one.cell, support="alone")))
        for one in _pick(results, support="eau")
    ]
    known = [(one, curve) for one, curve in pairs if curve is not None]
    same = [one for one, curve in known if one.curve == curve]
    moved = sum(one.interventions > 0 for one in same)
    return (
        f"In {len(same)} of the {len(known)} that have a run alone beside them, success was the "
        f"same as alone in every training step, though in {moved} of these it had changed a knob."
    )


def curves(results: Sequence[Result], world: str) -> dict[str, list[float]]:
    """Return a world's mean learning curve over methods and seeds, by condition and support."""
    found: dict[str, list[float]] = {}
    for condition in CONDITIONS:
        for support in SUPPORTS[:2]:
            mine = _pick(
                results, world=world, user="symbolic", condition=condition, support=support
            )
            steps = [
                [value for value in values if value is not None]
                for values in zip(*(one.curve for one in mine), strict=False)
            ]
            means = [fmean(values) for values in takewhile(bool, steps)]
            if means:
                found[f"{condition}, {support}"] = means
    return found


def _pick(results: Sequence[Result], **wanted: str) -> list[Result]:
    return [
        one
        for one in results
        if all(getattr(one.cell, name) == value for name, value in wanted.items())
    ]


def _starts(results: Sequence[Result]) -> str:
    starts = [one.start for one in results]
    low, high = min(starts), max(starts)
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def _unequal(results: Sequence[Result]) -> str:
    """Return a sentence where cells were not trained for equally many tokens, else nothing."""
    tokens = [one.action_tokens for one in results]
    if max(tokens) <= (1 + EQUAL) * min(tokens):
        return ""
    return f" Cells are not at equal tokens: they wrote {min(tokens):,} to {max(tokens):,}."


def _figure(world: str) -> Path:
    return FIGURES / f"grid-{world}.svg"


def _mean(results: Sequence[Result]) -> str:
    # A share stays a share, however few seeds there are.
    return _with_interval(
        [one.end for one in results], lambda value: f"{min(max(value, 0.0), 1.0):.2f}"
    )


def _difference(alone: Sequence[Result], other: Sequence[Result]) -> str:
    # Adding 0 keeps a rounded nothing from being written as a loss of -0.00.
    return _with_interval(_pairs(alone, other), lambda value: f"{round(value, 2) + 0.0:+.2f}")


def _with_interval(values: Sequence[float], form: Callable[[float], str]) -> str:
    if not values:
        return "-"
    mean = fmean(values)
    if len(values) < 2:
        return f"{form(mean)} (1 seed)"
    if min(values) == max(values):
        return f"{form(mean)} (all alike)"
    half = quantile(0.975, freedom=len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return f"{form(mean)} ({form(mean - half)} to {form(mean + half)})"


def _smallest(alone: Sequence[Result], eau: Sequence[Result]) -> str:
    pairs = _pairs(alone, eau)
    if len(pairs) < 2 or min(pairs) == max(pairs):
        return "-"
    return f"{detectable(len(pairs) - 1) * stdev(pairs) / math.sqrt(len(pairs)):.2f}"


def _pairs(alone: Sequence[Result], eau: Sequence[Result]) -> list[float]:
    before = {one.cell.seed: one.end for one in alone}
    return [one.end - before[one.cell.seed] for one in eau if one.cell.seed in before]


def publish(results: Sequence[Result], page: Path) -> None:
    """Write the tables into a document, and a figure of each world beside it.

    Raises:
        DocumentError: if the document has no place for the grid's block.
    """
    if not documents.replace_block(page, BLOCK, markdown(results)):
        raise documents.DocumentError(f"{page} has no block named {BLOCK}; add its markers")
    for world in sorted({one.cell.world for one in results}):
        target = page.parent / _figure(world)
        target.parent.mkdir(exist_ok=True)
        title = f"Training success by step in {world}, mean over methods and seeds"
        files.write_whole(target, curves_svg(curves(results, world), title=title).encode())
