"""Where a revision comes from: by which door, who wanted it, why, and on what evidence.

Everything is as the ledger has it; nothing here judges or reads a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gate.contract.ledger import Revision, RevisionKind
from gate.contract.records import told
from trainer.looking.reading import mapping

DOORS: Mapping[RevisionKind, str] = {
    RevisionKind.LAUNCH: "the launch",
    RevisionKind.DIRECT_EDIT: "somebody saved a knob file",
    RevisionKind.COMMAND: "a command of the gate",
    RevisionKind.PROPOSAL: "a proposal that the gate let pass",
    RevisionKind.REVERT: "an earlier revision is taken back",
    RevisionKind.PLANTED: "a planted fault",
}
"""By which door a revision came, in words."""


@dataclass(frozen=True)
class Origin:
    """Who put a revision into force, and why."""

    revision: int = told("Its number.")
    step: int = told("The first training step under it.")
    kind: str = told("launch, direct_edit, command, proposal, revert or planted.")
    author: str = told("person, meta_agent, gate or unattributed.")
    reason: str = told("What was given as the reason; empty where nobody gave one.")
    changes: tuple[Mapping[str, Any], ...] = told(
        "Knobs that it moves: path, old, new; a side that is no override is left out."
    )
    worlds: tuple[str, ...] = told("Worlds of which it changes files.")
    proposal: int | None = told("Number of the proposal; null without one.")
    proposer: str | None = told("Who signed the proposal, as `operator`; null without one.")
    evidence: Mapping[str, Any] = told("What the proposal cites: steps and episodes.")
    expected: Mapping[str, Any] = told("What it was expected to do: metric, direction, size.")
    reverts: int | None = told("The revision that it takes back; null if none.")
    forced: str | None = told("Why a person overruled what stood against it; null if nobody did.")

    def __str__(self) -> str:
        """Return on one line how it came into force."""
        if self.proposal is not None:
            by = f"proposal {self.proposal} by {self.proposer or self.author}"
            back = f", taking back revision {self.reverts}" if self.reverts is not None else ""
            return by + back + (", forced by a person" if self.forced is not None else "")
        if self.reverts is not None:
            return f"revision {self.reverts} taken back by {_who(self.author)}"
        door = DOORS[RevisionKind(self.kind)]
        named = RevisionKind(self.kind) in (RevisionKind.DIRECT_EDIT, RevisionKind.COMMAND)
        return f"{door} ({_who(self.author)})" if named else door


def origin(revision: Revision) -> Origin:
    """Return where a revision comes from."""
    details = revision.details
    proposal = mapping(details.get("proposal"))
    return Origin(
        revision=revision.number,
        step=revision.step,
        kind=revision.kind.value,
        author=revision.author.value,
        reason=" ".join(revision.reason.split()),
        changes=tuple(one.to_json() for one in revision.changes),
        worlds=tuple(map(str, details.get("worlds") or ())),
        proposal=proposal.get("number"),
        proposer=proposal.get("author"),
        evidence=mapping(proposal.get("evidence")),
        expected=mapping(proposal.get("expected")),
        reverts=details.get("reverts", proposal.get("reverts")),
        forced=mapping(details.get("forced")).get("reason"),
    )


def _who(author: str) -> str:
    return {"gate": "the gate", "unattributed": "nothing says by whom"}.get(
        author, f"a {author.replace('_', '-')}"
    )
