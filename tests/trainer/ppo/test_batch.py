"""Packing keeps every token where it was, and refuses what would be trained on wrongly."""

from __future__ import annotations

import random

import pytest

from trainer.episode import StopReason
from trainer.ppo.batch import micro_batches, minibatches, pack


def test_rows_are_padded_on_the_right_and_positions_count_from_zero(trajectory):
    packed = pack([trajectory(0, "oaa"), trajectory(1, "ooaooa")])
    assert packed.ids_BT.shape == (2, 6)
    assert packed.position_ids_BT.tolist() == [[0, 1, 2, 3, 4, 5]] * 2
    assert packed.action_mask_BT[0].tolist() == [False, True, True, False, False, False]
    assert packed.turn_ids_BT[1].tolist() == [-1, -1, 0, -1, -1, 1]
    assert packed.lengths_B == (3, 6)
    assert packed.num_actions == 4


def test_tokens_after_the_last_action_are_cut(trajectory):
    packed = pack([trajectory(0, "oaaooooo")])
    assert packed.ids_BT.shape == (1, 3)


def test_truncation_follows_the_stop_reason_and_not_the_length(trajectory):
    packed = pack(
        [
            trajectory(0, "oa", stop=StopReason.OUT_OF_TOKENS),
            trajectory(1, "oaaaaaaa", stop=StopReason.SOLVED),
            trajectory(2, "oaa", stop=StopReason.OUT_OF_STEPS),
        ]
    )
    assert packed.truncated_B.tolist() == [True, False, True]


def test_rollouts_of_one_group_share_a_number(trajectory):
    packed = pack([trajectory(number) for number in (0, 1, 2, 3)])
    assert packed.group_ids_B.tolist() == [0, 0, 1, 1]


def test_a_reward_sits_on_the_end_token_and_not_on_the_padding(trajectory):
    packed = pack([trajectory(0, "oaaa", reward=1.0), trajectory(1, "oaaaaa", reward=0.0)])
    assert packed.rewards_BT[0].tolist() == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]


def test_a_dialogue_without_actions_is_refused_by_name(trajectory):
    with pytest.raises(ValueError, match="episode 000001-03 holds no action token; drop it"):
        pack([trajectory(3, "ooo")])


def test_a_reward_on_a_trailing_observation_is_refused_rather_than_lost(trajectory):
    with pytest.raises(
        ValueError, match=r"token 3: reward 1\.0 lies on a token the policy did not"
    ):
        pack([trajectory(0, "oaao", rewards=(0.0, 0.0, 0.0, 1.0))])


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
@pytest.mark.parametrize("part", ["rewards", "rollout_logprobs"])
def test_a_number_that_is_not_finite_is_refused_with_its_place(trajectory, part, broken):
    with pytest.raises(ValueError, match=r"token 1: .* must be finite; quarantine"):
        pack([trajectory(0, "oaa", **{part: (0.0, broken, 0.0)})])


def test_parts_of_different_length_are_refused(trajectory):
    with pytest.raises(ValueError, match="turn_ids has 2 entries for 3 tokens"):
        pack([trajectory(0, "oaa", turn_ids=(-1, 0))])


def test_an_action_without_a_prompt_is_refused(trajectory):
    with pytest.raises(ValueError, match="starts with an action"):
        pack([trajectory(0, "aao")])


def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match="at least one trajectory"):
        pack([])


def test_passes_stay_within_their_tokens_and_hold_every_row_once():
    chance = random.Random(2)
    for _ in range(200):
        lengths = [chance.randint(1, 60) for _ in range(chance.randint(1, 40))]
        limit = chance.randint(1, 300)
        plan = micro_batches(lengths, max_tokens=limit)
        assert sorted(row for rows in plan for row in rows) == list(range(len(lengths)))
        for rows in plan:
            padded = len(rows) * max(lengths[row] for row in rows)
            assert padded <= limit or len(rows) == 1


def test_sorting_by_length_keeps_the_padding_small():
    lengths = [10, 100] * 16
    plan = micro_batches(lengths, max_tokens=400)
    padded = sum(len(rows) * max(lengths[row] for row in rows) for rows in plan)
    assert padded == sum(lengths)


def test_minibatches_are_of_nearly_equal_size():
    parts = minibatches(range(17), dialogues=16)
    assert [len(part) for part in parts] == [8, 9]
    assert sorted(row for part in parts for row in part) == list(range(17))
    assert minibatches(range(3), dialogues=16) == [[0, 1, 2]]
