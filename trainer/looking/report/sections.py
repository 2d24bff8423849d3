"""What a page about a run tells, and in which order.

A sentence with the figures, the curve with what was in force and found, the history, the tests,
dialogues worth reading, how episodes ended, the learner, the knobs, and what the run was made of.
Everything is taken from the records as it stands there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gate.contract import experiments
from gate.contract.ledger import RevisionKind
from gate.contract.sides import Side
from trainer.looking import chronicle, trials, why
from trainer.looking.chronicle import Line
from trainer.looking.origin import origin
from trainer.looking.pulse import ENDED
from trainer.looking.reading import Reading, Record, mapping, number
from trainer.looking.report import curves, dialogues, turns
from trainer.looking.report.charts import interval as drawn_interval
from trainer.looking.report.page import Section, cell, page, paragraph, table
from trainer.looking.success import in_force, pooled, shares
from trainer.looking.wording import duration, interval, value

ENDS = 10
"""Steps at either end over which the lead averages success."""
LEAST_REACH = 0.1
"""What the bars of effects show on either side of zero, at least."""


def write(reading: Reading, *, now: float) -> str:
    """Return the page about a run.

    Args:
        reading: The run.
        now: Seconds since 1970, told as when the page was made.
    """
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
    source = f"Made {made} from the run's records. Intervals are of 95%; verdicts are the gate's."
    lead = [
        paragraph(summary(reading), "lead"),
        *(paragraph(sentence, "damage") for sentence in reading.damage),
        paragraph(source, "soft"),
    ]
    found = list(chronicle.lines(reading))
    return page(
        reading.run,
        lead,
        [
            Section("Success", curves.success(reading)),
            Section("What came into force, and what was found", _history(found)),
            Section("Tests", _tests(reading)),
            Section("Dialogues", turns.dialogues(dialogues.chosen(reading))),
            Section("How episodes ended", curves.endings(reading)),
            Section("The learner", curves.learner(reading)),
            Section("Knobs that differ from the launch", list(_knobs(reading))),
            Section("What the run was made of", [_made_of(reading)]),
        ],
    )


def summary(reading: Reading) -> str:
    """Return in a few sentences how far a run came and what happened to it."""
    status, steps = reading.status, reading.steps
    if not steps:
        return f"No step is on record; the run is {status.get('phase', 'not started')}."
    total, phase = number(status.get("total_steps")), str(status.get("phase", ""))
    of = f" of {total:.0f}" if total else ""
    how = phase if phase in ENDED else "under way"
    revisions = [one for one in (reading.past.revisions if reading.past else ()) if one.number]
    planted = sum(one.kind is RevisionKind.PLANTED for one in revisions)
    verdicts = [one for one in experiments.outcomes(reading.entries) if one.ends_the_test]
    told = ", ".join(f"{one.verdict} (revision {one.revision})" for one in verdicts)
    parts = [
        f"{steps[-1]['step']}{of} training steps, {how}.",
        *_success(reading),
        f"{_count(len(revisions), 'revision')} came into force"
        + (f", {planted} of them planted as a fault" if planted else "")
        + f"; {_count(len(verdicts), 'verdict')}{': ' if told else ''}{told}.",
    ]
    return " ".join(parts)


def _success(reading: Reading) -> Iterator[str]:
    """Yield a sentence for each user that played: success at both ends of the run."""
    first, last = (_pooled(one) for one in (reading.steps[:ENDS], reading.steps[-ENDS:]))
    for arm in sorted({*first, *last}):
        ends = [
            f"{found[arm]} over the {where}"
            for found, where in ((first, f"first {ENDS} steps"), (last, "last"))
            if arm in found
        ]
        yield f"Success with the {arm} user: {', '.join(ends)}."


def _pooled(records: Sequence[Record]) -> dict[str, str]:
    found = pooled(one for record in records for one in in_force(shares(record)))
    return {
        one.arm: f"{one.success:.2f} ({one.low:.2f} to {one.high:.2f})"
        for one in found
        if one.side == Side.IN_FORCE
    }


def _count(many: int, noun: str) -> str:
    return f"{many or 'no'} {noun}{'' if many == 1 else 's'}"


def _history(found: list[Line]) -> list[str]:
    if not found:
        return []
    rows = []
    for one in found:
        css = {"help": "good", "harm": "bad", "safety_rollback": "bad", "refused": "bad"}
        numbered = one.test if one.kind == "test" else one.revision
        word = one.word if one.verdict or numbered is None else f"{one.word} {numbered}"
        rows.append(
            [
                cell(str(one.step), "key"),
                cell(word.replace("_", " "), f"word {css.get(one.word, '')}".strip()),
                cell(one.text),
                cell(one.reason, "soft"),
            ]
        )
    return [table(("step", "", "what", "why"), rows)]


def _tests(reading: Reading) -> list[str]:
    past = reading.past
    if past is None or not past.experiments:
        return []
    last = reading.steps[-1]["step"] if reading.steps else 0
    running = {one.number: one for one in trials.open_at(reading, last)}
    measured = [mapping(one.effect) for one in past.effects if one.effect]
    reach = max([LEAST_REACH, *(abs(one[end]) for one in measured for end in ("low", "high"))])
    rows = []
    for test in past.experiments.values():
        end = trials.ending(past, test)
        found, now = mapping(end.effect) if end is not None else {}, running.get(test.number)
        says = "not judged" if not test.judged else end.verdict if end is not None else "open"
        because = end.because if end is not None else now.says if now is not None else test.because
        rows.append(
            [
                cell(str(test.number), "key"),
                cell(f"revision {test.revision}", "key"),
                cell(_design(test), ""),
                cell(says.replace("_", " "), "word"),
                f"<td>{_drawn(found, reach)}</td>",
                cell(interval(found) if found else "", "key"),
                cell(because, "soft"),
            ]
        )
    return [
        table(("test", "of", "design", "verdict", f"effect, ±{reach:.2f}", "95%", "because"), rows)
    ]


def _design(test: experiments.Experiment) -> str:
    if not test.judged:
        return ""
    return f"{test.design.replace('_', ' ')}, {test.window} steps from {test.opened}"


def _drawn(found: Mapping[str, Any], reach: float) -> str:
    if not found:
        return ""
    return drawn_interval(found["difference"], found["low"], found["high"], reach)


def _knobs(reading: Reading) -> Iterator[str]:
    revision = int(number(reading.status.get("revision")) or 0)
    rows = []
    for one in why.in_force(reading, revision):
        came = reading.revision(one.revision)
        rows.append(
            [
                cell(one.path, "key"),
                cell(value(one.launch), "key"),
                cell(value(one.value), "key"),
                cell(str(one.since), "key"),
                cell(f"revision {one.revision}: {origin(came)}" if came is not None else ""),
            ]
        )
    if rows:
        yield table(("knob", "launch", "now", "since step", "by"), rows)
    elif reading.past is not None:
        yield paragraph("None: every knob is what the run was launched with.")


def _made_of(reading: Reading) -> str:
    launch, config = reading.launch, mapping(reading.launch.get("config"))
    policy, rollout = mapping(config.get("policy")), mapping(config.get("rollout"))
    tasks = mapping(launch.get("tasks"))
    seconds = sum(number(one.get("step_s")) or 0.0 for one in reading.steps)
    told = {
        "recipe": config.get("name"),
        "seed": config.get("seed"),
        "commit": launch.get("commit"),
        "parent": launch.get("parent"),
        "attempt": launch.get("attempt"),
        "versions": _flat(mapping(launch.get("versions"))),
        "policy": _flat({key: policy.get(key) for key in ("kind", "path") if policy.get(key)}),
        "learner": _flat(
            {
                "backend": config.get("backend"),
                "credit": mapping(config.get("learner")).get("credit"),
            }
        ),
        "sampler": mapping(config.get("sampler")).get("kind"),
        "dialogues per step": rollout.get("dialogues_per_step"),
        "tasks": ", ".join(
            f"{world} {mapping(one).get('count')} ({mapping(one).get('provenance')})"
            for world, one in tasks.items()
        ),
        "users": mapping(config.get("users")).get("other"),
        "meta-agent": mapping(config.get("meta_agent")).get("agent"),
        "time of the steps": duration(seconds),
        "endpoint": _flat(mapping(reading.status.get("endpoint"))),
        "not protected": "; ".join(map(str, reading.status.get("not_protected") or ())),
    }
    rows = [
        [cell(name, "key soft"), cell(value(one, most=600))]
        for name, one in told.items()
        if one not in (None, "")
    ]
    return table((), rows)


def _flat(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value(one)}" for name, one in found.items() if one is not None)
