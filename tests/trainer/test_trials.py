"""Trials: pass^k and pass@k are unbiased, told apart, and a quarantined trial is no trial."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from trainer import trials
from trainer.episode import Episode, StopReason, Voice
from trainer.trials import Reliability


def episode(
    task: str, success: float | None, *, world: str = "travel", stop: StopReason = StopReason.SOLVED
) -> Episode:
    return Episode(
        id="000000-00",
        task_id=task,
        world=world,
        arm=Voice.SYMBOLIC,
        turns=(),
        rewards=(),
        stop=stop,
        revision=0,
        seed=1,
        success=success,
    )


def lost(task: str) -> Episode:
    return episode(task, None, stop=StopReason.WORLD_HUNG)


@pytest.mark.parametrize(
    ("n", "c", "expected"),
    [
        (4, 3, (0.75, 0.5, 0.25, 0.0)),
        (4, 4, (1.0, 1.0, 1.0, 1.0)),
        (4, 0, (0.0, 0.0, 0.0, 0.0)),
        (4, 1, (0.25, 0.0, 0.0, 0.0)),
        (5, 3, (0.6, 0.3, 0.1, 0.0, 0.0)),
    ],
)
def test_pass_hat_is_the_share_of_subsets_in_which_all_succeed(
    n: int, c: int, expected: Sequence[float]
) -> None:
    assert [trials.pass_hat(n, c, k) for k in range(1, n + 1)] == pytest.approx(expected)


def test_any_of_k_grows_where_all_of_k_falls() -> None:
    assert [trials.pass_at(4, 3, k) for k in (1, 2, 3, 4)] == [0.75, 1.0, 1.0, 1.0]
    assert [trials.pass_at(4, 1, k) for k in (1, 2, 3, 4)] == [0.25, 0.5, 0.75, 1.0]
    assert trials.pass_at(4, 2, 1) == trials.pass_hat(4, 2, 1)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_both_estimates_are_unbiased(k: int) -> None:
    # Every outcome of four trials that each succeed with probability .3, by its weight.
    share, n = 0.3, 4
    hat = at = 0.0
    for outcome in itertools.product((0, 1), repeat=n):
        c = sum(outcome)
        weight = share**c * (1 - share) ** (n - c)
        hat += weight * trials.pass_hat(n, c, k)
        at += weight * trials.pass_at(n, c, k)
    assert hat == pytest.approx(share**k)
    assert at == pytest.approx(1 - (1 - share) ** k)


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 1), (4, -1, 1), (4, 2, 0), (4, 2, 5), (0, 0, 1)])
def test_counts_that_do_not_fit_are_refused(n: int, c: int, k: int) -> None:
    for estimate in (trials.pass_hat, trials.pass_at):
        with pytest.raises(ValueError, match="need 0 <= c <= n and 1 <= k <= n"):
            estimate(n, c, k)


def test_reliability_is_averaged_over_tasks() -> None:
    lived = [episode("a", 1.0)] * 2 + [episode("b", 1.0), episode("b", 0.0)]
    assert trials.reliability(lived, trials=2) == (
        Reliability(1, 0.75, 0.75, 2),
        Reliability(2, 0.5, 1.0, 2),
    )


def test_the_first_value_is_the_mean_success_rate() -> None:
    lived = [episode(f"t{index % 5}", float(index % 3 == 0)) for index in range(20)]
    successes = [one.success or 0.0 for one in lived]
    (first, *_) = trials.reliability(lived, trials=4)
    assert first.pass_hat == first.pass_at == pytest.approx(sum(successes) / len(successes))


def test_a_quarantined_trial_is_neither_a_failure_nor_a_success() -> None:
    lived = [episode("a", 1.0), lost("a"), episode("b", 1.0), episode("b", 1.0), lost("c")]
    assert trials.reliability(lived, trials=3) == (
        Reliability(1, 1.0, 1.0, 2),
        Reliability(2, 1.0, 1.0, 1),
    )


def test_success_has_the_slack_of_a_rounded_product_and_no_more() -> None:
    (only,) = trials.reliability([episode("a", 1.0 - 1e-7), episode("b", 0.99)], trials=1)
    assert only.pass_hat == 0.5


def test_tasks_of_two_worlds_are_two_tasks_even_where_their_ids_are_the_same() -> None:
    lived = [episode("0", 1.0, world="one"), episode("0", 0.0, world="two")]
    assert trials.reliability(lived, trials=2) == (Reliability(1, 0.5, 0.5, 2),)
