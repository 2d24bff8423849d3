"""A proposal rests on what training showed: it cites steps or episodes of its own run.

Only records that exist count, so that a story without a record behind it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract.findings import Finding
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="A proposal cites at least one training record of its run, and every record that it "
    "cites exists.",
    answers="karpathy/autoresearch PR#560, wandb/senpai PR#898: luck of a seed counted as a win.",
    by_hand="silent",
)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding if nothing is cited, and for every record cited that is not there."""
    proposal = change_set.proposal
    if proposal is None:
        return
    if not proposal.steps and not proposal.episodes:
        yield change_set.finding(
            "evidence",
            "evidence",
            f"Proposal {proposal.number} cites no record.",
            "Cite the steps or episodes that show what you saw.",
        )
    last = change_set.known.last_step
    for step in proposal.steps:
        if step > last:
            yield change_set.finding(
                "evidence",
                "evidence.steps",
                f"Step {step} is not on record; the last one is {last}.",
                "Cite a step of steps.jsonl of this run.",
                value=step,
                limit=last,
            )
    for episode in proposal.episodes:
        if episode not in change_set.known.episodes:
            yield change_set.finding(
                "evidence",
                "evidence.episodes",
                f"Episode {episode} is not on record in this run.",
                "Cite an id as it stands in episodes/.",
                value=episode,
            )
