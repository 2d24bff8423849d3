"""Episodes: what was lived, turn by turn, and why it ended.

An episode exists even when it failed: a bad episode is data. Nothing here knows about tokens
(`trainer.trajectory`) or about who produced the words (`trainer.users`, `trainer.policy`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gate.contract.sides import Side


class Speaker(StrEnum):
    """Who wrote a turn."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"


class Voice(StrEnum):
    """Who spoke for the user."""

    SYMBOLIC = "symbolic"
    NOISY = "noisy"
    LLM = "llm"


class Outcome(StrEnum):
    """What becomes of an episode in the batch; the three counts add up to those started."""

    FINISHED = "finished"
    """It counts and it is trained on."""
    QUARANTINED = "quarantined"
    """The infrastructure failed: it is kept as evidence and masked out of the loss."""
    DROPPED = "dropped"
    """The policy wrote no token, so there is nothing to train on."""


class StopReason(StrEnum):
    """Why an episode ended; each member knows what that means for learning."""

    SOLVED = "solved"
    FAILED = "failed"
    """The world closed without success, as after a wrong and final choice."""
    USER_ENDED = "user_ended"
    OUT_OF_STEPS = "out_of_steps"
    OUT_OF_TOKENS = "out_of_tokens"
    MALFORMED = "malformed"
    """The policy kept writing actions that no world could read."""
    NO_ACTION = "no_action"
    WORLD_ERROR = "world_error"
    """The world raised."""
    WORLD_DIED = "world_died"
    """The world's process ended, by itself or at a resource limit."""
    WORLD_HUNG = "world_hung"
    """A call into the world passed its deadline."""
    WORLD_FLOODED = "world_flooded"
    """The world answered with more bytes than the seam carries."""
    WORLD_INVALID = "world_invalid"
    """The world's answer had a missing or non-finite reward, or the wrong shape."""
    USER_ERROR = "user_error"
    """The user engine failed within its deadline and retries."""
    JUDGE_UNAVAILABLE = "judge_unavailable"
    """A judge had no usable answer to what the world asked, within its deadline and retries."""
    SAMPLER_ERROR = "sampler_error"
    EPISODE_DEADLINE = "episode_deadline"
    STEP_DEADLINE = "step_deadline"

    @property
    def truncated(self) -> bool:
        """True when a limit cut the episode, so the critic must bootstrap past the end."""
        return self in (StopReason.OUT_OF_STEPS, StopReason.OUT_OF_TOKENS)

    @property
    def policy_fault(self) -> bool:
        """True when the policy broke the protocol and earns the floor reward."""
        return self is StopReason.MALFORMED

    @property
    def outcome(self) -> Outcome:
        """What becomes of an episode that ended so."""
        if self is StopReason.NO_ACTION:
            return Outcome.DROPPED
        return Outcome.QUARANTINED if self in _INFRASTRUCTURE else Outcome.FINISHED


_INFRASTRUCTURE = frozenset(
    {
        StopReason.WORLD_ERROR,
        StopReason.WORLD_DIED,
        StopReason.WORLD_HUNG,
        StopReason.WORLD_FLOODED,
        StopReason.WORLD_INVALID,
        StopReason.USER_ERROR,
        StopReason.JUDGE_UNAVAILABLE,
        StopReason.SAMPLER_ERROR,
        StopReason.EPISODE_DEADLINE,
        StopReason.STEP_DEADLINE,
    }
)


@dataclass(frozen=True)
class RewardEvent:
    """One payment: the rule that paid, how much, and the agent turn that earned it."""

    rule: str
    """`task` for the verifier's word, else the id of a shaping rule."""
    value: float
    turn: int


@dataclass(frozen=True)
class Turn:
    """One message by one speaker."""

    speaker: Speaker
    text: str
    agent_turn: int
    """How many agent turns came before; an agent's own first turn has 0."""
    voice: Voice | None = None
    """For a user's turn: who spoke for the user."""
    revealed: tuple[str, ...] = ()
    """For a user's turn: ids of the facts it disclosed."""
    private: Mapping[str, Any] = field(default_factory=dict)
    """For a user's turn: thoughts and strategy label. Never shown to the agent."""
    events: tuple[str, ...] = ()
    """Names of the world's events that this turn caused."""


@dataclass(frozen=True)
class Judgement:
    """What a judge was asked about an episode and what it said. Never shown to the agent."""

    question: str
    """Digest of the question."""
    judge: str
    """Who answered."""
    criteria: tuple[str, ...]
    answer: tuple[float, ...]
    """One value for each criterion, in [0, 1]."""
    pinned: bool = False
    """True where only revision 0's verifier asked."""


@dataclass(frozen=True)
class Episode:
    """One lived interaction, complete enough to be shown, judged again and replayed."""

    id: str
    """`<step>-<index in the batch>`, such as `000012-05`."""
    task_id: str
    world: str
    arm: Voice
    """Who was drawn to play the user; success is reported per arm."""
    turns: tuple[Turn, ...]
    rewards: tuple[RewardEvent, ...]
    stop: StopReason
    revision: int
    """The revision of knobs and worlds under which it started and finished."""
    seed: int
    success: float | None = None
    """The verifier's verdict in [0, 1]; None where it could not be had."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """The world's own numbers, such as `travel_choice`."""
    error: str | None = None
    """What broke, when something did."""
    side: Side = Side.IN_FORCE
    """Which values it was played under."""
    pinned_success: float | None = None
    """The verdict of revision 0's verifier in [0, 1]; None where it could not be had."""
    judged: tuple[Judgement, ...] = ()
    """What its verdict rests on beside the rules, in the order asked."""

    @property
    def num_agent_turns(self) -> int:
        """How many times the agent spoke."""
        return sum(turn.speaker is Speaker.AGENT for turn in self.turns)

    @property
    def total_reward(self) -> float:
        """The sum of all payments."""
        return sum(event.value for event in self.rewards)
