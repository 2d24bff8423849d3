"""A change of epsilon only moves the threshold: no other episode changes its speaker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer import seeds
from trainer.users.mixed import draw_voice, is_symbolic, mix_draw, pooled_success

SEEDS = st.integers(0, 2**63 - 1)
TURNS = st.none() | st.integers(0, 60)


@pytest.mark.parametrize(
    ("epsilon", "voices"), [(0.5, "SSLL"), (0.3, "SLLL"), (0.0, "LLLL"), (1.0, "SSSS")]
)
def test_draws_below_epsilon_are_symbolic(epsilon: float, voices: str) -> None:
    draws = (0.1, 0.4, 0.6, 0.9)
    assert "".join("S" if is_symbolic(draw, epsilon) else "L" for draw in draws) == voices


@given(SEEDS, TURNS)
def test_epsilon_zero_and_one_are_exact(seed: int, turn: int | None) -> None:
    assert draw_voice(0.0, seed=seed, turn=turn) is False
    assert draw_voice(1.0, seed=seed, turn=turn) is True


@given(SEEDS, TURNS, st.floats(0, 1), st.floats(0, 1))
def test_raising_epsilon_only_turns_episodes_symbolic(
    seed: int, turn: int | None, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    before = draw_voice(low, seed=seed, turn=turn)
    after = draw_voice(high, seed=seed, turn=turn)
    changed = low <= mix_draw(seed=seed, turn=turn) < high
    assert (before, after) in ({(False, True)} if changed else {(False, False), (True, True)})


def test_the_draw_depends_on_every_counter() -> None:
    episodes = [
        seeds.derive(run, task, rollout) for run in (1, 2) for task in "ab" for rollout in (0, 1)
    ]
    draws = {mix_draw(seed=seed, turn=turn) for seed in episodes for turn in (None, 0, 1)}
    assert len(draws) == 24


def test_the_share_of_symbolic_episodes_is_epsilon() -> None:
    n = 10_000
    share = sum(draw_voice(0.3, seed=seeds.derive(5, "task", i)) for i in range(n)) / n
    assert share == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / n) ** 0.5)


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan")])
def test_an_epsilon_that_is_no_probability_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="user_strategy_mix"):
        draw_voice(epsilon, seed=1)


@pytest.mark.parametrize(("epsilon", "pooled"), [(0.5, 0.500), (0.6, 0.529), (0.4, 0.471)])
def test_epsilon_alone_moves_the_pooled_rate(epsilon: float, pooled: float) -> None:
    assert pooled_success(epsilon, symbolic=0.645, other=0.355) == pytest.approx(pooled, abs=1e-9)
