"""The situation: the explicit state in which a symbolic user chooses its rule.

Built from the agent's message, the memory of the dialogue and the knobs; a pure function of
them. Which words follow from a rule is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

from trainer.task import Fact, Task
from trainer.users.disclosure import Standing, kind_matches, standing
from trainer.users.parse import Parsed
from trainer.users.rules import MATCH_NONE, Bound, Deed, Rule, When
from trainer.users.seam import UserState
from trainer.users.settings import UserSettings

SCORE_SLACK = 1e-9
"""A score this close below a limit has reached it: sums of weights round."""

# What a question hit, most useful first: one tellable fact makes it a good question.
_RANKING = (Standing.OPEN, Standing.SPENT, Standing.WITHDRAWN, Standing.WITHHELD)


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything a condition may look at."""

    parsed: Parsed
    settings: UserSettings
    match: str
    """The best standing among the facts that the message hit, or `none`."""
    tellable: tuple[Fact, ...]
    """The facts that the message hit and that may be told: unrevealed first, then by score."""
    remaining: tuple[Fact, ...]
    """Facts that may be told and never were, in task order."""
    hit_kinds: tuple[str, ...]
    """Kinds of the facts that the message hit, best first."""
    score: float
    """The best score of any fact, 0 where none matches."""
    questions: int
    """Agent messages so far that asked something, this one included."""
    unhelpful: int
    """Agent messages in a row before this one that asked for nothing the user could give."""
    replies: int

    @property
    def helpful(self) -> bool:
        """True when the message asks for something that the user may tell."""
        return self.parsed.act.asks and self.match == Standing.OPEN

    @property
    def volunteer_due(self) -> bool:
        """True when this is the message by which the user offers a fact unasked."""
        after = self.settings.volunteer_after
        return after is not None and not self.helpful and self.unhelpful + 1 >= after

    @property
    def accepts(self) -> bool:
        """True when enough was asked for the user to take an answer as good."""
        return self.questions >= self.settings.min_questions


def assess(task: Task, parsed: Parsed, state: UserState, settings: UserSettings) -> Situation:
    """Return the situation after a message of the agent."""
    kinds, most = settings.reveal_kinds, settings.max_reveals
    standings = [standing(fact, state, reveal_kinds=kinds, max_reveals=most) for fact in task.facts]
    threshold = settings.match_threshold - SCORE_SLACK
    hits = [match.index for match in parsed.matches if match.score >= threshold]
    found = {standings[index] for index in hits}
    counts = state.reveal_counts
    tellable = [task.facts[index] for index in hits if standings[index] is Standing.OPEN]
    tellable.sort(key=lambda fact: counts.get(fact.id, 0) > 0)
    return Situation(
        parsed=parsed,
        settings=settings,
        match=next((rank for rank in _RANKING if rank in found), MATCH_NONE),
        tellable=tuple(tellable),
        remaining=tuple(
            fact
            for fact, stands in zip(task.facts, standings, strict=True)
            if stands is Standing.OPEN and not counts.get(fact.id, 0)
        ),
        hit_kinds=tuple(task.facts[index].kind for index in hits),
        score=parsed.matches[0].score if parsed.matches else 0.0,
        questions=state.num_questions + parsed.act.asks,
        unhelpful=state.num_unhelpful,
        replies=state.num_replies,
    )


def holds(rule: Rule, situation: Situation) -> bool:
    """Return whether a rule answers in this situation.

    Beside its own conditions, a rule that tells facts needs a fact to tell, and one that accepts
    needs the questions that `min_questions` asks for.
    """
    if rule.deed is Deed.REVEAL and not situation.tellable:
        return False
    if rule.deed is Deed.VOLUNTEER and not situation.remaining:
        return False
    if rule.deed.accepts and not situation.accepts:
        return False
    return _conditions_hold(rule.when, situation)


def _conditions_hold(when: When, situation: Situation) -> bool:
    parsed = situation.parsed
    if when.acts is not None and parsed.act not in when.acts:
        return False
    if when.matches is not None and situation.match not in when.matches:
        return False
    if when.promises is not None and parsed.promises != when.promises:
        return False
    if when.volunteer_due is not None and situation.volunteer_due != when.volunteer_due:
        return False
    if when.kinds is not None and not any(
        kind_matches(kind, when.kinds) for kind in situation.hit_kinds
    ):
        return False
    if when.says is not None and when.says.search(parsed.text) is None:
        return False
    return all(_within(name, bound, situation) for name, bound in when.bounds)


def _within(name: str, bound: Bound, situation: Situation) -> bool:
    value = float(len(situation.remaining) if name == "remaining" else getattr(situation, name))
    low = _limit(bound.at_least, situation.settings)
    high = _limit(bound.below, situation.settings)
    if bound.at_least is not None and (low is None or value < low - SCORE_SLACK):
        return False
    return bound.below is None or (high is not None and value < high - SCORE_SLACK)


def _limit(limit: float | str | None, settings: UserSettings) -> float | None:
    """Return a limit as a number; None for a setting that is off, such as `volunteer_after`."""
    return getattr(settings, limit) if isinstance(limit, str) else limit
