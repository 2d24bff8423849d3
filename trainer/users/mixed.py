"""The mixed user: symbolic with probability epsilon, otherwise another user.

The draw is a function of counters (run seed, task, rollout, and turn where a turn is the unit), so
a change of epsilon only moves the threshold: raising it turns some episodes symbolic and changes
no other. What the two users say is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainer import seeds
from trainer.episode import Voice
from trainer.users.seam import UserEngine, UserFailure, UserReply, UserRequest


def draw_voice(
    epsilon: float,
    *,
    seed: int,
    task_id: str,
    rollout: int,
    turn: int | None = None,
    other: Voice = Voice.LLM,
) -> Voice:
    """Return who speaks for the user.

    Args:
        epsilon: Probability of the symbolic user, in [0, 1]; 0 and 1 are exact.
        seed: The run's seed.
        task_id: The task of the episode.
        rollout: Which rollout of the task this is, counted so that no two share a number.
        turn: The turn to draw for where the unit is a turn; None draws for the whole episode.
        other: Who speaks otherwise.

    Raises:
        ValueError: if epsilon is outside [0, 1].
    """
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"user_strategy_mix: {epsilon} is outside [0, 1]; choose a probability")
    draw = mix_draw(seed=seed, task_id=task_id, rollout=rollout, turn=turn)
    return voice_at(draw, epsilon, other=other)


def mix_draw(*, seed: int, task_id: str, rollout: int, turn: int | None = None) -> float:
    """Return the number in [0, 1) that epsilon is compared with."""
    labels: tuple[str | int, ...] = ("mix", task_id, rollout)
    return seeds.uniform(seed, *labels, *(() if turn is None else ("turn", turn)))


def voice_at(draw: float, epsilon: float, *, other: Voice = Voice.LLM) -> Voice:
    """Return who speaks for one draw: the symbolic user where it lies below epsilon."""
    return Voice.SYMBOLIC if draw < epsilon else other


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


@dataclass(frozen=True)
class MixedUser:
    """Two users behind one door; each request says by its voice who answers it."""

    symbolic: UserEngine
    other: UserEngine

    def reply(
        self, requests: Sequence[UserRequest], voices: Sequence[Voice]
    ) -> list[UserReply | UserFailure]:
        """Answer a batch of messages, one result per request, in order.

        Args:
            requests: The messages.
            voices: Who answers each, as `draw_voice` told.

        Raises:
            ValueError: if the two differ in length, or a voice belongs to neither user.
        """
        if len(requests) != len(voices):
            raise ValueError(
                f"{len(requests)} requests came with {len(voices)} voices; pass one each"
            )
        results: dict[int, UserReply | UserFailure] = {}
        for engine in (self.symbolic, self.other):
            mine = [
                index
                for index, voice in enumerate(voices)
                if voice is engine.voice and index not in results
            ]
            if mine:
                answers = engine.reply([requests[index] for index in mine])
                results.update(zip(mine, answers, strict=True))
        for index, voice in enumerate(voices):
            if index not in results:
                known = f"{self.symbolic.voice} and {self.other.voice}"
                raise ValueError(f"no user speaks with the voice {voice}; there are {known}")
        return [results[index] for index in range(len(requests))]
