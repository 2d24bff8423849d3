"""What a rollout fixes for the whole run (the recipe's `rollout:` block)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RolloutConfig:
    """How episodes are gathered."""

    dialogues_per_step: int = 32
    group_size: int = 1
    """Rollouts of one task in a step; critic-free methods need more than one."""
    max_new_tokens: int = 32
    """Tokens the policy may write in a turn."""
    context_tokens: int = 1024
    """Tokens a dialogue may hold; reaching it ends the episode as truncated."""
    max_malformed: int = 3
    """Malformed actions in a row that end an episode."""
    max_in_flight: int | None = None
    """Dialogues under way at once where servers write the turns; null for all of a step. A server
    remembers more of each where there are fewer."""
    overlap: bool = False
    """Play the next step while this one is learnt from: no GPU waits for the other kind of work,
    every batch but the first after a checkpoint is learnt from one update late, and what is asked
    for by hand or by a meta-agent comes into force a step later. The learner corrects for the age
    (`learner.tis_cap`, `learner.stale_gate`); the local sampler keeps a copy of the model for
    it."""
    anchor_share: float = 0.0625
    """Share of the groups, in [0, 1], that play under revision 0 of knobs, world and user, whatever
    is in force. They show what the policy masters where no edit can help; without them no change is
    proven to help, and nothing gets harder, nor with less than one in six steps."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.anchor_share <= 1.0:
            raise ValueError(f"anchor_share {self.anchor_share} is outside [0, 1]")
        if self.max_in_flight is not None and self.max_in_flight < 1:
            raise ValueError(
                f"max_in_flight {self.max_in_flight} must be at least 1; null plays all at once"
            )
