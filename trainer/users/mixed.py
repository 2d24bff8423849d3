"""The mixed user: symbolic with probability epsilon, otherwise another user.

The draw is a function of counters (run seed, task, rollout, and turn where a turn is the unit), so
a change of epsilon only moves the threshold: raising it turns some episodes symbolic and changes
no other. What the two users say is not known here.
"""

from __future__ import annotations

from trainer import seeds


def draw_voice(epsilon: float, *, seed: int, turn: int | None = None) -> bool:
    """Return whether the symbolic user speaks.

    Args:
        epsilon: Probability of the symbolic user, in [0, 1]; 0 and 1 are exact.
        seed: The episode's own seed, derived from the run's seed, the task and the rollout.
        turn: Where a turn is the unit of the mix, the number of the user's reply; None draws once
            for the whole episode.

    Raises:
        ValueError: if epsilon is outside [0, 1].
    """
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"user_strategy_mix: {epsilon} is outside [0, 1]; choose a probability")
    return is_symbolic(mix_draw(seed=seed, turn=turn), epsilon)


def mix_draw(*, seed: int, turn: int | None = None) -> float:
    """Return the number in [0, 1) that epsilon is compared with; arguments as `draw_voice`."""
    if turn is None:
        return seeds.uniform(seed, "mix")
    return seeds.uniform(seed, "mix", turn)


def is_symbolic(draw: float, epsilon: float) -> bool:
    """Return whether a draw means the symbolic user: where it lies below epsilon."""
    return draw < epsilon


def pooled_success(epsilon: float, *, symbolic: float, other: float) -> float:
    """Return the success rate over both arms that a share of symbolic episodes gives.

    Where the arms differ, epsilon alone moves this number while the policy stays as it is; so
    success is reported for each arm, and arms are compared like with like.

    Args:
        epsilon: Share of symbolic episodes, in [0, 1].
        symbolic: Success rate of the symbolic arm.
        other: Success rate of the other arm.
    """
    return epsilon * symbolic + (1.0 - epsilon) * other
