"""Faca pays a segment for the reaction right after it, compared with its peers' same segment."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.ppo.evidence import estimate, evidence, per_turn
from trainer.ppo.credit_options import FacaOptions
from trainer.ppo.faca import process_scores, reaction_signal

REACTIONS = [[1, 1, -1], [1, -1], [0, -1, 1], [1]]
REWARDS = [1.0, 0.0, 0.0, 1.0]


def group(rewards=REWARDS, reactions=REACTIONS):
    """Four rollouts of one task whose every segment is answered."""
    rows = [
        [*[(0.0, 2)] * (len(answers) - 1), (reward, 2)]
        for reward, answers in zip(rewards, reactions, strict=True)
    ]
    return evidence(rows, reactions=reactions)


def test_oracle_of_four_rollouts():
    batch = group()
    credit = estimate("faca", batch, group_ddof=0)
    found = per_turn(credit, batch)
    assert [row[0] for row in found] == pytest.approx(
        [1.288675, -0.711325, -1.866025, 1.288675], abs=5e-6
    )
    assert [row[1] for row in found[:3]] == pytest.approx(
        [1.707107, -1.353553, -1.353553], abs=5e-6
    )
    assert [found[0][2], found[2][2]] == pytest.approx([0.5, -0.5], abs=5e-6)


def test_oracle_of_the_reactions_alone():
    scores = process_scores(group(), FacaOptions(), ddof=0)
    assert scores[:, 0].tolist() == pytest.approx([0.57735, 0.57735, -1.73205, 0.57735], abs=5e-6)
    assert scores[:, 1].tolist() == pytest.approx([1.414214, -0.707107, -0.707107, 0], abs=5e-6)
    assert scores[:, 2].tolist() == pytest.approx([-1, 0, 1, 0], abs=5e-6)


def test_the_signal_survives_a_group_in_which_all_succeed():
    batch = group(rewards=[1.0] * 4)
    found = per_turn(estimate("faca", batch, group_ddof=0), batch)
    assert [row[0] for row in found] == pytest.approx(
        [0.288675, 0.288675, -0.866025, 0.288675], abs=5e-6
    )


def test_the_sample_deviation_is_the_default_for_both_parts():
    batch = group()
    found = per_turn(estimate("faca", batch), batch)
    # A_o = .5 / .57735, A_p = .25 / .5.
    assert found[0][0] == pytest.approx(0.866024 + 0.5 * 0.5, abs=5e-6)


def test_a_segment_without_an_answer_has_no_reaction_and_is_no_peer():
    batch = evidence(
        [[(0.0, 1), (1.0, 1)], [(0.0, 1), (0.0, 1)], [(0.0, 1)]],
        reactions=[[1], [-1, 1], [1]],
    )
    scores = process_scores(batch, FacaOptions(), ddof=0)
    assert scores[:, 1].tolist() == [0.0, 0.0, 0.0], "one answer alone has nobody to beat"
    assert scores[0, 0] > 0 > scores[1, 0]


def test_equal_reactions_teach_nothing():
    batch = group(reactions=[[1], [1], [1], [1]])
    assert not process_scores(batch, FacaOptions(), ddof=1).any()


def test_an_invalid_label_is_neutral_or_left_out_as_chosen():
    batch = group(reactions=[[1], [1], [-1], [None]])
    neutral = process_scores(batch, FacaOptions(invalid="neutral"), ddof=0)[:, 0]
    # f = [1, 1, -1, 0]: mean .25, deviation .829156.
    assert neutral.tolist() == pytest.approx([0.904534, 0.904534, -1.507557, -0.301511], abs=5e-6)
    excluded = process_scores(batch, FacaOptions(invalid="exclude"), ddof=0)[:, 0]
    # f = [1, 1, -1]: mean 1/3, deviation .942809.
    assert excluded.tolist() == pytest.approx([0.707107, 0.707107, -1.414214, 0.0], abs=5e-6)
    assert estimate("faca", batch).diagnostics["reactions_invalid"] == 0.25


@pytest.mark.parametrize(
    "options", [FacaOptions(mode="off"), FacaOptions(weight=0.0), FacaOptions(weight=-0.0)]
)
def test_without_reactions_it_is_grpo_to_the_last_bit(options):
    batch = group()
    credit = estimate("faca", batch, faca=options)
    plain = estimate("grpo", batch)
    assert torch.equal(credit.advantages_BT, plain.advantages_BT)
    assert not torch.equal(credit.advantages_BT, estimate("faca", batch).advantages_BT)


@given(
    st.lists(
        st.tuples(
            st.floats(-2, 2, width=32),
            st.lists(st.sampled_from([-1, 0, 1, None]), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_off_is_grpo_whatever_the_group(rows):
    batch = group([reward for reward, _ in rows], [answers for _, answers in rows])
    off = estimate("faca", batch, faca=FacaOptions(mode="off"))
    assert torch.equal(off.advantages_BT, estimate("grpo", batch).advantages_BT)
    aligned = estimate("faca", batch)
    assert bool(aligned.advantages_BT.isfinite().all())


def test_shifted_reactions_pay_the_segment_after_them():
    reactions = group().reactions
    assert reactions is not None
    signal = reaction_signal(reactions, FacaOptions(mode="shifted"), seed=0)
    assert signal.counted_BS.tolist() == [
        [False, True, True],
        [False, True, False],
        [False, True, True],
        [False, False, False],
    ]
    assert signal.polarity_BS.tolist() == [[0, 1, 1], [0, 1, 0], [0, 0, -1], [0, 0, 0]]


def test_random_signs_keep_coverage_and_follow_the_seed_alone():
    reactions = group().reactions
    assert reactions is not None
    options = FacaOptions(mode="random")
    drawn = [reaction_signal(reactions, options, seed=seed).polarity_BS for seed in range(12)]
    for polarity in drawn:
        assert torch.equal(polarity.abs(), reactions.polarity_BS.abs().double())
    again = reaction_signal(reactions, options, seed=3).polarity_BS
    assert torch.equal(drawn[3], again)
    assert len({tuple(polarity.flatten().tolist()) for polarity in drawn}) > 6


def test_a_negative_weight_turns_reactions_around():
    batch = group(rewards=[1.0] * 4)
    plus = estimate("faca", batch).advantages_BT
    minus = estimate("faca", batch, faca=FacaOptions(weight=-0.5)).advantages_BT
    assert torch.allclose(plus, -minus)


def test_shares_of_the_signal_are_reported():
    found = estimate("faca", group()).diagnostics
    assert found["reactions_positive"] == pytest.approx(5 / 9)
    assert found["reactions_negative"] == pytest.approx(3 / 9)
    assert 0 < found["process_share"] < 1
    assert found["process_coverage"] == 1.0


def test_a_batch_without_reactions_is_refused():
    with pytest.raises(ValueError, match="needs reactions"):
        estimate("faca", replace(group(), reactions=None))
