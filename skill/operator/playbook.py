"""The playbook: for each symptom the moves to try in order, or why it is left alone.

It is data, so that `docs/operator.md` can be held to it and a person can argue with one line. A
move names a knob and how far to turn it; whether it may be turned is for the gate, and whether it
helped for the gate's verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gate.contract import knobs


class Turn(StrEnum):
    """How a move changes a value."""

    ADD = "add"
    TIMES = "times"
    WEAKEN = "weaken"
    """Of the reward rules, halve the one that pays most, and let it pay once."""


@dataclass(frozen=True)
class Move:
    """One thing to try."""

    knob: str
    turn: Turn
    amount: float
    metric: str = "success"
    direction: str = "up"
    size: float = 0.05
    """The effect that would prove it right, in the units of the metric."""

    def __str__(self) -> str:
        """Return it as a person would say it."""
        if self.turn is Turn.WEAKEN:
            return f"`{self.knob}`: halve the rule that pays most, and let it pay once"
        how = f"{self.amount:+g}" if self.turn is Turn.ADD else f"times {self.amount:g}"
        return f"`{self.knob}` {how}"

    def value(self, old: Any, paid: Mapping[str, float]) -> Any:
        """Return the new value; the old one where there is no room.

        Args:
            old: The value in force.
            paid: Mean reward per episode by shaping rule, lately.
        """
        if self.turn is Turn.WEAKEN:
            return _weakened(old, paid)
        if not isinstance(old, int | float) or isinstance(old, bool):
            return old
        spec = knobs.specs()[self.knob]
        new = old + self.amount if self.turn is Turn.ADD else old * self.amount
        low, high = spec.low, spec.high
        new = min(high, new) if high is not None else new
        new = max(low, new) if low is not None else new
        # Twelve digits: 0.6 + 0.1 shall read 0.7 in a knob file.
        return round(new) if isinstance(old, int) else float(f"{new:.12g}")


@dataclass(frozen=True)
class Play:
    """What to do about one symptom."""

    moves: tuple[Move, ...] = ()
    """In the order in which to try them."""
    leave: str = ""
    """Why nothing is proposed, where nothing is."""
    takes_back: bool = False
    """Whether the revision that success fell with is taken back, instead of a move."""


_EASIER_TALK = (Move("user.facts_per_reply", Turn.ADD, 1), Move("user.max_reveals", Turn.ADD, 1))
_WEAKER_RULE = Move("reward.shaping", Turn.WEAKEN, 0.5, "shaping_reward", "down", 0.02)
_SLOWER = Move("agent.actor_lr", Turn.TIMES, 0.5, "learner.kl", "down", 0.05)
_NEARER = Move("agent.kl_coeff", Turn.ADD, 0.005, "learner.kl", "down", 0.05)
_WIDER = Move("agent.entropy_coeff", Turn.ADD, 0.002, "learner.entropy", "up", 0.05)
_WORLD = "a world's code is at fault: that takes judgement, so a person or a coding agent edits it"
_USER_MODEL = (
    "the model that plays the user keeps to no form: a person looks at its endpoint and prompt"
)
_PERSON = "infrastructure: a person is told, and no knob is turned"

PLAYBOOK: Mapping[str, Play] = {
    "stand_still": Play(leave=_PERSON),
    "broken_update": Play((_SLOWER,)),
    "judge_unavailable": Play(leave=_PERSON),
    "stale_sampler": Play(leave=_PERSON),
    "fell_with_revision": Play(takes_back=True),
    "silent_tool": Play(leave=_WORLD),
    "verifier_false_negative": Play(leave=_WORLD),
    "vacuous_pass": Play(leave=_WORLD),
    "user_leak": Play(
        (
            Move("user.max_reply_chars", Turn.TIMES, 0.5, "max_reply_chars", "down", 20),
            Move("user.facts_per_reply", Turn.ADD, -1, "conversation.facts_per_reply", "down", 0.2),
        )
    ),
    "deadlock": Play(
        (
            Move("user.min_questions", Turn.ADD, -1, "conversation.cap_hit_share", "down", 0.1),
            Move("user.match_threshold", Turn.ADD, -0.1, "conversation.unmatched_share", "down"),
        )
    ),
    "user_drift": Play((Move("user.user_strategy_mix", Turn.ADD, 0.25),)),
    "invalid_reactions": Play(leave=_USER_MODEL),
    "step_cap": Play((*_EASIER_TALK, Move("environment.max_steps", Turn.ADD, 4))),
    "reward_hacking": Play((_WEAKER_RULE,)),
    "length_hacking": Play((_WEAKER_RULE,)),
    "repetition": Play((_SLOWER, _NEARER)),
    "template_collapse": Play((_WIDER, _NEARER)),
    "entropy_collapse": Play((_WIDER,)),
    "entropy_eruption": Play(
        (Move("agent.actor_lr", Turn.TIMES, 0.5, "learner.entropy", "down", 0.05),)
    ),
    "kl_blow_up": Play((_SLOWER, _NEARER)),
    "dead_critic": Play(
        (Move("agent.critic_lr", Turn.TIMES, 3.0, "learner.explained_variance", "up", 0.05),)
    ),
    "never_solved": Play(_EASIER_TALK),
    "saturated_tasks": Play(
        (
            Move("user.match_threshold", Turn.ADD, 0.1, "success", "down", 0.02),
            Move("user.min_questions", Turn.ADD, 1, "success", "down", 0.02),
        )
    ),
}
"""Every symptom that a detector can name, in the order in which to doubt."""


def markdown() -> str:
    """Return the table of `docs/operator.md`."""
    lines = ["| symptom | moves, in order | expected |", "|---|---|---|"]
    for name, play in PLAYBOOK.items():
        moves = "; ".join(map(str, play.moves)) or f"none: {play.leave}"
        expected = "; ".join(f"`{one.metric}` {one.direction}" for one in play.moves)
        if play.takes_back:
            moves, expected = "take back the revision that success fell with", "`success` up"
        lines.append(f"| `{name}` | {moves} | {expected} |")
    return "\n".join(lines)


def _weakened(old: Any, paid: Mapping[str, float]) -> Any:
    if not isinstance(old, list) or not old:
        return old
    most = max(old, key=lambda rule: paid.get(rule["id"], 0.0) if rule["value"] > 0 else -1.0)
    if most["value"] <= 0:
        return old
    weaker = {**most, "value": float(f"{most['value'] / 2:.12g}"), "once": True}
    return [weaker if rule is most else rule for rule in old]
