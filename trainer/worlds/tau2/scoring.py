"""Scoring: every component of a tau2 reward, and the reward under a case's basis.

All components are judged and reported, whether or not the basis counts them. What only a judge
model could decide is never taken as passed: without its word `COMMUNICATE` stands in, and the
number of statements left unjudged goes with the result. This module knows nothing about turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer.worlds.tau2.case import Assertion, Case, Component, GoldAction
from trainer.worlds.tau2.office import Bases, Domain, Office, Outcome, close_by_gold
from trainer.worlds.tau2.values import Change, same

SLACK = 1e-6


@dataclass(frozen=True)
class Scorecard:
    """What a dialogue came to, with the reasons."""

    basis: tuple[Component, ...]
    """The components that the reward is the product of."""
    met: Mapping[Component, bool]
    """Every component that could be judged."""
    ended: bool
    """True when the user ended the dialogue; nothing else earns anything."""
    agent_changes: tuple[Change, ...]
    """Where the agent's database differs from the gold one: old is gold, new is found."""
    user_changes: tuple[Change, ...]
    failed_assertions: tuple[Assertion, ...]
    unmatched: tuple[GoldAction, ...]
    """Gold actions that no call of the dialogue matches."""
    unsaid: tuple[str, ...]
    gold_faults: tuple[Outcome, ...]
    """Gold actions that the tools refuse: a fault of the data."""
    num_unjudged: int
    """Statements of the basis that no judge was there for."""

    @property
    def reward(self) -> float:
        """1 when the user ended the dialogue and all of the basis is met, else 0."""
        return float(self.ended and all(self.met[component] for component in self.basis))


def basis_in_force(case: Case, nl_met: bool | None = None) -> tuple[Component, ...]:
    """Return what a reward is the product of; without a judge `COMMUNICATE` stands in for it."""
    judged = nl_met is not None
    stand_in = Component.NL_ASSERTION if judged else Component.COMMUNICATE
    return tuple(
        dict.fromkeys(
            stand_in if component is Component.NL_ASSERTION else component
            for component in case.basis
        )
    )


def score(
    domain: Domain,
    case: Case,
    bases: Bases,
    office: Office,
    said: Sequence[str],
    *,
    ended: bool,
    nl_met: bool | None = None,
) -> Scorecard:
    """Judge a dialogue.

    Args:
        domain: The tools.
        case: The task.
        bases: The databases before the episode.
        office: The state that the dialogue left, with its log of calls.
        said: The agent's messages to the user.
        ended: Whether the user ended the dialogue, or was handed over.
        nl_met: A judge's word on the statements in natural language; None without a judge.
    """
    gold = close_by_gold(domain, case, bases)
    compared = case.compares_state
    agent_changes = tuple(office.agent.changes(gold.agent)) if compared else ()
    user_changes = tuple(office.user.changes(gold.user)) if compared else ()
    failed = tuple(one for one in case.assertions if not office.holds(one))
    unmatched = tuple(one for one in case.actions if not _is_matched(one, office.log))
    unsaid = tuple(text for text in case.communicate if not is_said(text, said))
    met = {
        Component.DB: not agent_changes and not user_changes,
        Component.ENV_ASSERTION: not failed,
        Component.ACTION: not unmatched,
        Component.COMMUNICATE: not unsaid,
    }
    if nl_met is not None:
        met[Component.NL_ASSERTION] = nl_met
    unjudged = nl_met is None and Component.NL_ASSERTION in case.basis
    return Scorecard(
        basis=basis_in_force(case, nl_met),
        met=met,
        ended=ended,
        agent_changes=agent_changes,
        user_changes=user_changes,
        failed_assertions=failed,
        unmatched=unmatched,
        unsaid=unsaid,
        gold_faults=tuple(outcome for outcome in gold.log if not outcome.ok),
        num_unjudged=len(case.nl_assertions) if unjudged else 0,
    )


def is_said(text: str, said: Sequence[str]) -> bool:
    """Return whether a text occurs in a message, case and thousands separators aside."""
    wanted = text.casefold().replace(",", "")
    return any(wanted in message.casefold().replace(",", "") for message in said)


def _is_matched(action: GoldAction, log: Sequence[Outcome]) -> bool:
    """Whether some call that was carried out is the one wanted, on the arguments compared."""
    return any(outcome.ok and _is(action, outcome) for outcome in log)


def _is(action: GoldAction, outcome: Outcome) -> bool:
    wanted, call = action.call, outcome.call
    if (wanted.side, wanted.name) != (call.side, call.name):
        return False
    if action.compare is None:
        # An argument left out is not an argument that agrees: all of gold's must be there.
        compared = [key for key in {*wanted.arguments, *call.arguments}]
    else:
        compared = list(action.compare)
    return all(same(wanted.arguments.get(key), call.arguments.get(key)) for key in compared)
