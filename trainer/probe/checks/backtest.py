"""A changed reward, paid on the episodes that the run has stored, still pays for success.

Failing calls are not paid, and who succeeded stands above who failed no less often than before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gate.contract.findings import Finding, Severity
from trainer.probe.outcome import NOTHING, Outcome, finding, found
from trainer.probe.repay import repay
from trainer.probe.stored import Stored
from trainer.probe.subject import SLACK, Subject, Version
from trainer.rollout.reward import RewardScheme

NAME = "backtest"
FEWEST = 4
"""Stored successes, and failures, from which their order says something."""
MOST_LOST = 0.02
"""How much of the order a change may lose."""
FAILING_ENDINGS = ("_failed", "_wrong", "_error", "_refused", "_repeated", "_unclear", "_none")
FAILING = frozenset({"malformed", "off_topic", "finished"})
"""Events of actions that came to nothing, as worlds name them."""


def check(subject: Subject, version: Version) -> Outcome:
    """Pay the stored episodes by both schemes.

    Source:
        ReZero#1, LightRFT PR#53: the reward rises while the true outcome falls; EAU: bonuses paid
        on failing calls.
    """
    old = subject.old
    if old is None or version is old or old.scheme == version.scheme or not subject.stored:
        return NOTHING
    before = _totals(subject, old.scheme, old.scheme)
    after = _totals(subject, old.scheme, version.scheme)
    success = [one.success for one in subject.stored]
    was, will = ordered(success, before), ordered(success, after)
    findings = [*_failing(subject, old.scheme, version.scheme), *_order(subject, was, will)]
    return found(None if will is None else 1.0 - will, findings)


def ordered(success: Sequence[float], totals: Sequence[float]) -> float | None:
    """Return how often a more successful episode earned more than a less successful one.

    Equal rewards count half. None where too few episodes differ in success.

    Args:
        success: The verdicts.
        totals: What each episode earned.
    """
    best, worst = max(success, default=0.0), min(success, default=0.0)
    high = [total for one, total in zip(success, totals, strict=True) if one >= best - SLACK]
    low = [total for one, total in zip(success, totals, strict=True) if one <= worst + SLACK]
    if best - worst <= SLACK or min(len(high), len(low)) < FEWEST:
        return None
    wins = sum(
        (one > other + SLACK) + 0.5 * (abs(one - other) <= SLACK) for one in high for other in low
    )
    return wins / (len(high) * len(low))


def _totals(subject: Subject, old: RewardScheme, new: RewardScheme) -> list[float]:
    return [sum(one.value for one in _paid(subject, stored, old, new)) for stored in subject.stored]


def _paid(subject: Subject, stored: Stored, old: RewardScheme, new: RewardScheme):
    return repay(stored.turns, stored.rewards, stored.stop, world=subject.name, old=old, new=new)


def _failing(subject: Subject, old: RewardScheme, new: RewardScheme) -> Iterator[Finding]:
    """Yield a finding for each new rule that pays for failing calls, as often as it would have."""
    known = {(rule.id, rule.event, rule.value) for rule in old.rules}
    counts = Counter(event for one in subject.stored for turn in one.turns for event in turn.events)
    for rule in new.rules:
        failing = rule.event in FAILING or rule.event.endswith(FAILING_ENDINGS)
        if rule.value <= 0 or not failing or (rule.id, rule.event, rule.value) in known:
            continue
        number = counts[rule.event]
        yield finding(
            NAME,
            f"The shaping rule {rule.id} pays {rule.value:g} for {rule.event}, which fails; it "
            f"happened {number} times in {len(subject.stored)} stored episodes of {subject.name}.",
            "Pay for the call that succeeds.",
            path="reward.shaping",
            value=number,
            limit=0,
        )


def _order(subject: Subject, was: float | None, will: float | None) -> Iterator[Finding]:
    if was is None or will is None:
        yield finding(
            NAME,
            f"Fewer than {FEWEST} stored episodes of {subject.name} succeeded, or failed: a "
            "changed reward cannot be held against them.",
            "Watch reward and success side by side after the change.",
            path="reward",
            severity=Severity.WARNING,
        )
    elif will < was - MOST_LOST:
        yield finding(
            NAME,
            f"By the new rewards a success of {subject.name} earns more than a failure in "
            f"{will:.2f} of all pairs of stored episodes; it is {was:.2f} by those in force.",
            "Lower what is paid on the way, or raise reward.task_weight.",
            path="reward",
            value=round(will, 4),
            limit=round(was - MOST_LOST, 4),
        )
