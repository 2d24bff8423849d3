"""The live view of a run: what a terminal shows of it at one moment, line by line.

A pure function of the records, the clock and the size of the terminal: no line is longer than the
terminal is wide, and what matters least goes first where it is not high enough. Text from records
is shown word for word, whatever markup or escapes it holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from gate.contract.sides import Side
from trainer.looking import trials, why
from trainer.looking.origin import origin
from trainer.looking.pulse import ENDED, Pulse, pulse, usual_step_s
from trainer.looking.reading import Reading, mapping, number
from trainer.looking.success import EVERYBODY, Share, pooled, shares
from trainer.looking.tidings import tidings
from trainer.looking.trials import Trial
from trainer.looking.wording import duration, interval, value
from trainer.progress import sparkline
from trainer.show import visible

LABEL = 10
"""Columns of the labels on the left."""
POOLED_STEPS = 5
"""Newest steps over which success is told by user."""
FEWEST_EVENTS = 4
"""Lines that are kept for events where there are so many."""
BAR = 16
"""Columns of the bar of steps."""
EVIDENCE_BAR = 10
"""Columns of a bar of evidence."""
SHARES_IN_A_ROW = 2
"""Successes that stand on one line."""
_ORDER = (Side.IN_FORCE, Side.NEW, Side.OLD, Side.ANCHOR)
CHECKPOINT = "checkpoint"
"""The kind of event of which only the newest is news."""
_VITALS = (
    ("entropy", "entropy", ".3f"),
    ("kl", "kl", ".4f"),
    ("clip_fraction", "clipped", ".2f"),
    ("actor_grad_norm", "grad", ".2f"),
    ("explained_variance", "ev", ".2f"),
    ("actor_lr", "lr", ".2g"),
)
"""What is told of the update: metric, label, format."""


def panel(reading: Reading, now: float, *, width: int, height: int) -> list[Text]:
    """Return what is shown of a run, at most `height` lines.

    Args:
        reading: The run.
        now: Seconds since 1970.
        width: Columns of the terminal.
        height: Its lines.
    """
    beat = pulse(reading, now)
    top = [*_head(reading, beat), *_curves(reading, width), *_users(reading)]
    middle = [*_refused(reading), *_tests(reading), *_in_force(reading), *_health(reading)]
    middle += [_line("", Text(sentence, "bold red")) for sentence in reading.damage]
    events = list(_events(reading))
    room = max(height - len(top) - min(len(events), FEWEST_EVENTS), 0)
    if len(middle) > room:
        left = len(middle) - max(room - 1, 0)
        middle = [*middle[: max(room - 1, 0)], _line("", Text(f"and {left} lines more", "dim"))]
    room = max(height - len(top) - len(middle), 0)
    found = [*top, *middle, *(events[-room:] if room else [])][:height]
    for line in found:
        line.truncate(width, overflow="ellipsis")
    return found


def _head(reading: Reading, beat: Pulse) -> Iterator[Text]:
    style = "bold red" if beat.stale or beat.phase == "failed" else "green"
    yield Text.assemble((visible(reading.run), "bold"), "  ", (visible(beat.text), style))
    step = int(number(reading.status.get("step")) or 0)
    if reading.steps:
        step = max(step, reading.steps[-1]["step"])
    planned = reading.status.get("total_steps") or mapping(reading.launch.get("config"))
    total = int(number(planned) or number(mapping(planned).get("total_steps")) or 0)
    if not step:
        yield _line("step", Text(f"none yet, of {total}" if total else "none yet", "dim"))
        return
    usual = usual_step_s(reading)
    left = f", {duration((total - step) * usual)} left" if total > step else ""
    share = min(step / total, 1.0) if total else 0.0
    bar = round(share * BAR)
    yield _line(
        "step",
        Text.assemble(
            (f"{step} of {total}  " if total else f"{step}  ", "bold"),
            ("━" * bar, "green"),
            ("━" * (BAR - bar), "bright_black"),
            f"  {usual:.1f} s a step{'' if beat.phase in ENDED or beat.stale else left}",
        ),
    )


def _curves(reading: Reading, width: int) -> Iterator[Text]:
    room = max(width - LABEL - 32, 10)
    success = _numbers(reading, "success")
    if success:
        recent = success[-POOLED_STEPS:]
        told = f"  {_mean(recent):.2f} in the last {len(recent)} steps"
        yield _line("success", Text.assemble((sparkline(success, width=room), "green"), told))
    turns = _numbers(reading, "agent_turns")
    if turns:
        low, high = min(turns), max(turns)
        scaled = [(one - low) / (high - low or 1.0) for one in turns]
        told = f"  {turns[-1]:.1f} agent turns ({low:.1f} to {high:.1f})"
        yield _line("length", Text.assemble((sparkline(scaled, width=room), "cyan"), told))


def _users(reading: Reading) -> Iterator[Text]:
    recent = reading.steps[-POOLED_STEPS:]
    found = pooled(one for record in recent for one in shares(record))
    # A test that ended within these steps has sides of its own; what is in force now counts.
    sides = {one.side for record in recent[-1:] for one in shares(record)}
    kept = [one for side in _ORDER if side in sides for one in found if one.side == side]
    compared = [one for one in kept if one.side in (Side.OLD, Side.ANCHOR)]
    played = [one for one in kept if one not in compared]
    for label, row in (
        [("by user", played), ("", compared)]
        if len(kept) > SHARES_IN_A_ROW
        else [("by user", kept)]
    ):
        if row:
            yield _line(label, Text(visible("  ".join(map(_share, row)))))


def _share(one: Share) -> str:
    side = "" if one.side == "in_force" else f"{one.side} "
    arm = "" if one.arm == EVERYBODY else f"{one.arm} "
    return f"{side}{arm}{one.success:.2f} ({one.low:.2f}-{one.high:.2f})"


def _refused(reading: Reading) -> Iterator[Text]:
    for style, name in (("bold red", "refused"), ("yellow", "warnings")):
        for finding in reading.status.get(name) or ():
            one = mapping(finding)
            place = ":".join(str(one[key]) for key in ("file", "line") if one.get(key) is not None)
            sentence = f"{place} {one.get('message', '')} {one.get('next_step', '')}".strip()
            label = "refused" if name == "refused" else "doubtful"
            yield _line(label, Text(visible(value(sentence, most=400)), style))


def _tests(reading: Reading) -> Iterator[Text]:
    newest = reading.steps[-1]["step"] if reading.steps else 0
    for test in trials.open_at(reading, newest):
        # What ended at the boundary after this step is no longer open.
        if test.verdict is None and test.judged_after is not None:
            yield from _test(test, newest)


def _test(test: Trial, newest: int) -> Iterator[Text]:
    steps = f"step {newest} of {test.opened} to {test.judged_after}"
    told = f"{test.number} of revision {test.revision}: {test.design.replace('_', ' ')}, {steps}"
    yield _line("test", Text(visible(told), "magenta"))
    if test.difference is not None and test.low is not None and test.high is not None:
        measured = {"difference": test.difference, "low": test.low, "high": test.high}
        yield _line("", Text(f"so far {interval(measured)}, no verdict yet"))
    bars = [
        part
        for name, found, style in (("harm", test.harm, "red"), ("help", test.help, "green"))
        if found is not None
        for part in _evidence(name, found, test.limit or 1.0, style)
    ]
    if bars:
        yield _line("", Text.assemble(*bars))
    if test.help is not None and test.limit is not None and test.help >= test.limit:
        yield _line("", Text("evidence of help suffices; the anchors must not have fallen", "dim"))


def _evidence(name: str, found: float, limit: float, style: str) -> Iterator[Any]:
    # Evidence multiplies from step to step, so that its logarithm moves towards the limit.
    share = max(0.0, min(1.0, math.log(max(found, 1.0)) / math.log(limit)))
    filled = round(share * EVIDENCE_BAR)
    yield f"{name} "
    yield ("━" * filled, style)
    yield ("━" * (EVIDENCE_BAR - filled), "bright_black")
    yield f" {found:.1f} of {limit:g}   "


def _in_force(reading: Reading) -> Iterator[Text]:
    if not reading.status and not reading.steps:
        return
    now = reading.status or reading.steps[-1]
    revision, world = (int(number(now.get(name)) or 0) for name in ("revision", "world_revision"))
    yield _line("in force", Text(f"revision {revision}, world {world:04d}"))
    for one in why.in_force(reading, revision):
        came = reading.revision(one.revision)
        by = f": {origin(came)}" if came is not None else ""
        told = f"{one.path} {value(one.launch)} -> {value(one.value)}"
        yield _line("", Text(visible(f"{told}, since step {one.since}{by}")))


def _health(reading: Reading) -> Iterator[Text]:
    newest: Mapping[str, Any] = reading.steps[-1] if reading.steps else {}
    learner = mapping(newest.get("learner"))
    told = [
        f"{label} {found:{form}}"
        for name, label, form in _VITALS
        if (found := number(learner.get(name))) is not None
    ]
    if told:
        yield _line("learner", Text("  ".join(told)))
    told = []
    gap, most = (number(learner.get(f"sampler_logprob_gap_{name}")) for name in ("mean", "max"))
    if gap is not None and most is not None:
        told.append(f"gap to the learner {gap:.1e}, at most {most:.1e}")
    told += [f"{name} {value(part)}" for name, part in _served(reading) if part is not None]
    if told:
        yield _line("sampler", Text(visible("  ".join(told))))
    health = mapping(reading.status.get("health"))
    spoilt = number(health.get("quarantined_share"))
    if spoilt or health.get("constant_reward") or health.get("updated") is False:
        parts = [f"{spoilt:.0%} quarantined"] if spoilt else []
        parts += ["the reward is constant"] if health.get("constant_reward") else []
        parts += ["the last step had no update"] if health.get("updated") is False else []
        yield _line("trouble", Text(", ".join(parts), "red"))
    spent = mapping(reading.status.get("endpoint"))
    if spent:
        yield _line("endpoint", Text(_spent(spent)))


def _served(reading: Reading) -> Sequence[tuple[str, Any]]:
    """Return what serving engines tell of themselves; nothing where none serve."""
    sampler = mapping(mapping(reading.status.get("health")).get("sampler"))
    return [(name, part) for name, part in sampler.items() if not isinstance(part, Mapping | list)]


def _spent(spent: Mapping[str, Any]) -> str:
    asked, failed = (number(spent.get(name)) or 0 for name in ("requests", "failures"))
    tokens = sum(number(spent.get(f"{name}_tokens")) or 0 for name in ("prompt", "completion"))
    usd = number(spent.get("usd"))
    cost = "" if usd is None else f", ${usd:.4f}"
    return f"{tokens:,.0f} tokens in {asked:,.0f} requests, {failed:.0f} failed{cost}"


def _events(reading: Reading) -> Iterator[Text]:
    found = tidings(reading.events)
    saved = [one for one in found if one.kind == CHECKPOINT]
    for one in found:
        if one.kind == CHECKPOINT and one is not saved[-1]:
            continue
        kind, told = one.kind.replace("_", " "), value(one.text, most=400)
        since = f", since step {one.first}" if one.first != one.step else ""
        text = Text.assemble((visible(kind), one.style), "  ", visible(told + since))
        yield _line(f"step {one.step}", text)


def _line(label: str, text: Text) -> Text:
    padded = set_cell_size(label, LABEL - 1) if cell_len(label) < LABEL else label
    return Text.assemble((padded, "dim"), " ", text, no_wrap=True)


def _numbers(reading: Reading, name: str) -> list[float]:
    found = (number(record.get(name)) for record in reading.steps)
    return [one for one in found if one is not None]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
