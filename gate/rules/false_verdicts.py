"""Whoever edits a verifier cites a verdict that was false, and what it should have been.

Success is what training follows, so a verifier is mended where it was seen to be wrong and nowhere
else. That every gold verdict stays, and that the cited ones are mended, is for the probes.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Finding
from gate.contract.proposals import FalseVerdict
from gate.rules import world_imports
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="An edit of a verifier, or of code that it uses, cites an episode on record that it "
    "judged wrongly, and the success that it should have been given.",
    answers="sierra-research/tau2-bench PR#392: a quarter of the failures were false; "
    "ReZero#1: the reward rises on a bugged reward.",
    by_hand="silent",
)

VERIFIER = "verifier.py"


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for an edited verifier without a reason, and for a reason that is none."""
    proposal = change_set.proposal
    if proposal is None:
        return
    edited = [change for change in change_set.worlds if is_judged(change)]
    cited = {one.episode: one for one in proposal.false_verdicts}
    for change in edited:
        worlds = [change_set.known.verdicts.get(episode) for episode in cited]
        if not any(record is not None and record.world == change.world for record in worlds):
            yield change_set.finding(
                "false-verdicts",
                "false_verdicts",
                f"The verifier of {change.world} is edited, and no false verdict of it is cited.",
                "Cite an episode of that world under false_verdicts, with what it should be.",
            )
    for one in cited.values():
        yield from _cited(change_set, one, {change.world for change in edited})


def is_judged(change: WorldChange) -> bool:
    """Return whether a change touches a verifier or code that it uses, before or after."""
    used = world_imports.reached(VERIFIER, change.before) | world_imports.reached(
        VERIFIER, change.after
    )
    return not used.isdisjoint(change.edits)


def _cited(change_set: ChangeSet, one: FalseVerdict, worlds: set[str]) -> Iterator[Finding]:
    record = change_set.known.verdicts.get(one.episode)
    if record is None:
        message = f"Episode {one.episode} is not on record in this run."
        step = "Cite an id as it stands in episodes/."
    elif record.world not in worlds:
        message = f"Episode {one.episode} was played in {record.world}, whose verifier stays."
        step = "Cite episodes of the world whose verifier is edited."
    elif record.success == one.should_be:
        message = f"Episode {one.episode} was given {one.should_be:g} already."
        step = "Cite a verdict that was false."
    else:
        return
    yield change_set.finding("false-verdicts", "false_verdicts", message, step, value=one.episode)
