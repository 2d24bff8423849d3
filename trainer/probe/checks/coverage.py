"""Every selector resolves to something, and every kind of fact in the data can be heard.

A selector is a pattern of `reveal_kinds`, a kind in a rule, a world or an event in a knob. One that
matches nothing is an error, since it does silently not what it says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gate.contract.findings import Finding
from trainer.probe.interview import held
from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.questions import questions_for
from trainer.probe.spoken import facts_in
from trainer.probe.subject import Subject, Version
from trainer.users.disclosure import kind_matches, unmatched_patterns

NAME = "coverage"


def check(subject: Subject, version: Version) -> Outcome:
    """Ask for every fact of every task under probe, kind by kind, and look up every selector.

    Source:
        EAU: the mixture matched only the keys travel, colbench and tau2, and four worlds resolved
        to nothing; the disclosure filter named a kind that few facts have.
    """
    kinds = sorted({fact.kind for task in subject.all_tasks for fact in task.facts})
    findings = [*_selectors(subject, version, kinds), *_unheard(subject, version)]
    return found(len(findings), findings)


def _selectors(subject: Subject, version: Version, kinds: list[str]) -> Iterator[Finding]:
    if not kinds:
        return
    wanted = version.user_settings["reveal_kinds"]
    lost = unmatched_patterns(wanted, kinds)
    # Patterns that hold for every world need to fit only one: those of this world are its own.
    if len(lost) == len(wanted):
        yield finding(
            NAME,
            f"user.reveal_kinds {lost} matches none of the kinds of facts of {subject.name}: "
            f"{', '.join(kinds[:8])}.",
            f"Name kinds that its tasks have, under user.worlds.{subject.name} where they differ.",
            path="user.reveal_kinds",
            value=lost,
            limit=kinds,
        )
    for rule in version.rules.rules:
        for pattern in unmatched_patterns(rule.when.kinds or (), kinds):
            yield finding(
                NAME,
                f"The rule {rule.id} of {subject.name} is for facts of the kind {pattern!r}, which "
                f"no task has; the kinds are {', '.join(kinds[:8])}.",
                "Name a kind that the tasks have.",
                path=f"world.{subject.name}.user.{rule.id}",
                value=pattern,
                limit=kinds,
            )


def _unheard(subject: Subject, version: Version) -> Iterator[Finding]:
    """Yield a finding for each kind that may be told and that no neutral question brings out."""
    asked: dict[str, int] = defaultdict(int)
    told: dict[str, int] = defaultdict(int)
    for task in subject.tasks:
        subject.budget.ask()
        for fact in task.facts:
            if not kind_matches(fact.kind, version.user_settings["reveal_kinds"]):
                continue
            asked[fact.kind] += 1
            seed = subject.episode_seed(task)
            dialogue = held(version, task, questions_for(fact), seed=seed)
            told[fact.kind] += any(fact.id in facts_in(task, one.reply) for one in dialogue)
    total = sum(asked.values())
    for kind, number in asked.items():
        if not told[kind]:
            yield finding(
                NAME,
                f"No question brings out a fact of the kind {kind} in {subject.name} "
                f"({number} of {total} facts under probe), though user.reveal_kinds allows it.",
                "Let a rule of user.yaml tell it, or leave the kind out of user.reveal_kinds.",
                path=f"world.{subject.name}.user",
                value=kind,
            )
