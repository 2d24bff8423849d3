"""The token-stream contract: append-only ids, one mask of what was sampled, rewards on actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.episode import Episode, RewardEvent, Speaker, StopReason, Turn, Voice
from trainer.trajectory import TokenStream, Trajectory, from_stream, place_rewards

END = FORCED = 2


def episode(
    *rewards: RewardEvent, stop: StopReason = StopReason.SOLVED, turns: Sequence[Turn] = ()
) -> Episode:
    return Episode(
        id="000003-01",
        task_id="t7",
        world="travel",
        arm=Voice.SYMBOLIC,
        turns=tuple(turns),
        rewards=rewards,
        stop=stop,
        revision=4,
        seed=1,
    )


def freeze(stream: TokenStream, lived: Episode) -> Trajectory:
    return from_stream(stream, lived, group_id="t7", policy_version=5)


def act(stream: TokenStream, ids: Sequence[int], logprob: float = -0.5) -> None:
    stream.act(len(stream.ids), ids, [logprob] * len(ids))


# One step of a dialogue: (the policy wrote it, ids, a user spoke before it).
steps = st.lists(
    st.tuples(st.booleans(), st.lists(st.integers(0, 99), min_size=1, max_size=5), st.booleans()),
    min_size=1,
    max_size=8,
)


@given(steps)
def test_every_sequence_is_as_long_as_the_ids_and_marks_what_was_sampled(
    dialogue: list[tuple[bool, list[int], bool]],
) -> None:
    stream = TokenStream()
    sampled = 0
    for wrote, ids, from_user in dialogue:
        before = list(stream.ids)
        if wrote:
            act(stream, ids)
            sampled += len(ids)
        else:
            stream.observe(ids, starts_segment=from_user)
        assert stream.ids == [*before, *ids], "a stream only ever grows"
    frozen = freeze(stream, episode())
    length = len(frozen.ids)
    columns = (frozen.action_mask, frozen.turn_ids, frozen.segment_ids, frozen.rollout_logprobs)
    assert {len(column) for column in (*columns, frozen.rewards)} == {length}
    assert frozen.num_actions == sampled
    acted = [
        t for t, is_action in zip(frozen.turn_ids, frozen.action_mask, strict=True) if is_action
    ]
    assert acted == sorted(acted), "turns are counted upwards"
    assert set(acted) == set(range(stream.num_turns))
    for turn, segment, logprob, is_action in zip(
        *(frozen.turn_ids, frozen.segment_ids, frozen.rollout_logprobs, frozen.action_mask),
        strict=True,
    ):
        assert (turn >= 0) == (segment >= 0) == is_action
        assert (logprob == 0.0) == (not is_action)


def test_num_actions_counts_sampled_tokens_not_the_span_between_them() -> None:
    """Four sampled, three of a tool, five sampled: nine, not twelve."""
    stream = TokenStream()
    act(stream, [5, 6, 7, END])
    stream.observe([8, 8, 8])
    act(stream, [5, 6, 7, 8, END])
    assert freeze(stream, episode()).num_actions == 9


def test_a_sampled_end_token_is_an_action_and_a_forced_one_is_not() -> None:
    stream = TokenStream()
    stream.observe([1, 9], starts_segment=True)
    act(stream, [5, END])
    stream.observe([10, 11], starts_segment=True)
    act(stream, [5, 6])  # cut by its length
    stream.observe([FORCED, 10, 11], starts_segment=True)
    assert stream.ids == [1, 9, 5, END, 10, 11, 5, 6, FORCED, 10, 11]
    assert [int(m) for m in stream.action_mask] == [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0]


def test_an_input_that_is_not_the_whole_dialogue_is_refused() -> None:
    stream = TokenStream()
    stream.observe([1, 2, 3])
    with pytest.raises(ValueError, match="given 2 tokens but the dialogue holds 3"):
        stream.act(2, [5], [-0.1])
    assert stream.ids == [1, 2, 3]


def test_ids_without_their_logprobs_are_refused() -> None:
    stream = TokenStream()
    with pytest.raises(ValueError, match="2 sampled ids came with 1"):
        stream.act(0, [5, 6], [-0.1])
    assert stream.ids == []


def test_a_segment_begins_with_the_users_word_and_may_hold_many_turns() -> None:
    stream = TokenStream()
    stream.observe([1], starts_segment=True)
    act(stream, [5])
    stream.observe([8])  # a tool's result
    act(stream, [6])
    stream.observe([9], starts_segment=True)
    act(stream, [7])
    assert stream.turn_ids == [-1, 0, -1, 1, -1, 2]
    assert stream.segment_ids == [-1, 0, -1, 0, -1, 1]


def test_a_reward_sits_on_the_last_action_of_its_turn() -> None:
    mask = [False, True, True, False, True, True, False]
    turns = [-1, 0, 0, -1, 1, 1, -1]
    events = (RewardEvent("ask", 0.2, 0), RewardEvent("task", 1.0, 1))
    assert place_rewards(turns, mask, events) == (0, 0, 0.2, 0, 0, 1.0, 0)


def test_a_terminal_reward_never_lands_on_trailing_text() -> None:
    """Mask 1 1 0: the reward goes to index 1."""
    assert place_rewards([0, 0, -1], [True, True, False], [RewardEvent("task", 1, 0)]) == (0, 1, 0)


def test_the_reward_sits_on_the_end_token_not_on_what_follows_it() -> None:
    """Response t t end pad: index 2."""
    mask = [True, True, True, False]
    assert place_rewards([0, 0, 0, -1], mask, [RewardEvent("task", 1, 0)]) == (0, 0, 1, 0)


def test_payments_of_one_turn_add_up() -> None:
    events = [RewardEvent("a", 0.25, 0), RewardEvent("b", -0.5, 0), RewardEvent("task", 1, 0)]
    assert place_rewards([0], [True], events) == (0.75,)


def test_a_payment_for_a_silent_turn_goes_to_the_last_word_before_it() -> None:
    turns, mask = [0, -1, 2], [True, False, True]
    assert place_rewards(turns, mask, [RewardEvent("a", 1, 1)]) == (1, 0, 0)
    assert place_rewards(turns, mask, [RewardEvent("a", 1, 9)]) == (0, 0, 1)
    assert place_rewards([-1, 3], [False, True], [RewardEvent("a", 1, 0)]) == (0, 1)


@given(
    masks=st.lists(st.booleans(), min_size=1, max_size=12),
    paid=st.lists(st.tuples(st.integers(0, 9), st.floats(-5, 5)), max_size=6),
)
def test_no_reward_is_lost_and_none_sits_outside_the_actions(
    masks: list[bool], paid: list[tuple[int, float]]
) -> None:
    turns, turn = [], -1
    for position, is_action in enumerate(masks):
        if is_action and (position == 0 or not masks[position - 1]):
            turn += 1
        turns.append(turn if is_action else -1)
    events = [RewardEvent("r", value, at) for at, value in paid]
    if events and not any(masks):
        with pytest.raises(ValueError, match="drop it"):
            place_rewards(turns, masks, events)
        return
    rewards = place_rewards(turns, masks, events)
    assert sum(rewards) == pytest.approx(sum(value for _, value in paid))
    assert all(
        reward == 0 for reward, is_action in zip(rewards, masks, strict=True) if not is_action
    )


def test_a_dialogue_without_actions_carries_no_reward() -> None:
    stream = TokenStream()
    stream.observe([1, 2])
    with pytest.raises(ValueError, match="without action tokens"):
        freeze(stream, episode(RewardEvent("task", 1.0, 0), stop=StopReason.NO_ACTION))
    assert freeze(stream, episode(stop=StopReason.NO_ACTION)).num_actions == 0


def test_a_frozen_dialogue_says_where_it_comes_from() -> None:
    stream = TokenStream()
    stream.observe([1], starts_segment=True)
    act(stream, [5, END])
    lived = episode(
        RewardEvent("task", 1.0, 0),
        turns=(Turn(Speaker.USER, "hi", 0), Turn(Speaker.AGENT, "x", 0)),
    )
    frozen = freeze(stream, replace(lived, arm=Voice.LLM))
    assert frozen == Trajectory(
        ids=(1, 5, END),
        action_mask=(False, True, True),
        turn_ids=(-1, 0, 0),
        segment_ids=(-1, 0, 0),
        rollout_logprobs=(0.0, -0.5, -0.5),
        rewards=(0.0, 0.0, 1.0),
        stop=StopReason.SOLVED,
        episode_id="000003-01",
        task_id="t7",
        group_id="t7",
        arm="llm",
        revision=4,
        policy_version=5,
    )


def test_a_frozen_dialogue_does_not_follow_its_stream() -> None:
    stream = TokenStream()
    act(stream, [5])
    frozen = freeze(stream, episode())
    stream.observe([9, 9])
    assert frozen.ids == (5,)


@pytest.mark.parametrize("stop", StopReason)
def test_an_ending_is_truncated_or_not_by_its_reason_alone(stop: StopReason) -> None:
    cut = {StopReason.OUT_OF_STEPS, StopReason.OUT_OF_TOKENS}
    assert stop.truncated == (stop in cut)
    stream = TokenStream()
    act(stream, [5])
    assert freeze(stream, episode(stop=stop)).stop is stop
