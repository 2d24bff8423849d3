"""Collecting: every episode comes back with its tokens or with the reason why it does not count."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.trainer.rollout import cast
from tests.trainer.rollout.cast import ScriptedHost, ScriptedUser, stage
from tests.trainer.worlds import stage as hostile
from trainer.episode import Episode, Outcome, RewardEvent, Speaker, StopReason, Voice
from trainer.policy.sampler import Completion, Finish
from trainer.rollout.collect import Rollout
from trainer.rollout.config import RolloutConfig
from trainer.trajectory import Trajectory
from trainer.users.seam import UserFailure
from trainer.worlds.calls import Act, Fault, Hear, Judge, Start
from trainer.worlds.local import LocalHost
from trainer.worlds.seam import StepResult

SMALL = RolloutConfig(max_new_tokens=20, context_tokens=400)


def only(rollout: Rollout) -> Episode:
    (episode,) = rollout.episodes
    return episode


def spans(trajectory: Trajectory) -> Iterator[tuple[bool, tuple[int, ...]]]:
    """Yield runs of tokens that the policy wrote, or did not."""
    pairs = zip(trajectory.action_mask, trajectory.ids, strict=True)
    for acted, group in itertools.groupby(pairs, key=lambda pair: pair[0]):
        yield acted, tuple(token for _, token in group)


def assert_counts(rollout: Rollout) -> None:
    outcomes = Counter(one.stop.outcome for one in rollout.episodes)
    assert sum(outcomes.values()) == len(rollout.episodes)
    finished = [one.id for one in rollout.episodes if one.stop.outcome is Outcome.FINISHED]
    assert [one.episode_id for one in rollout.trajectories] == finished


def test_every_input_is_a_prefix_of_the_next_and_what_was_sampled_is_marked() -> None:
    on = stage(["which one?", "[search] hotels", "and when?", "[finish]"])
    on.host = ScriptedHost(results={("e0", 3): cast.SOLVED})
    rollout = on.play()
    (trajectory,) = rollout.trajectories
    asked = [request.ids for request in on.sampler.asked]
    for earlier, later in itertools.pairwise(asked):
        assert later[: len(earlier)] == earlier
    said = [ids for acted, ids in spans(trajectory) if acted]
    assert said == [
        cast.encode(text) for text in ("which one?", "[search] hotels", "and when?", "[finish]")
    ]
    chat = cast.ByteChat()
    assert [ids for acted, ids in spans(trajectory) if not acted] == [
        tuple(chat.open("rules", "hello")),
        tuple(chat.extend([(Speaker.USER, "symbolic 1")], ended=True)),
        tuple(chat.extend([(Speaker.TOOL, "saw search 1")], ended=True)),
        tuple(chat.extend([(Speaker.USER, "symbolic 2")], ended=True)),
    ]
    acted = [index for index, mask in enumerate(trajectory.action_mask) if mask]
    assert [
        trajectory.rollout_logprobs[index] != 0 for index in range(len(trajectory.ids))
    ] == list(trajectory.action_mask)
    assert [trajectory.turn_ids[index] for index in acted] == sorted(
        trajectory.turn_ids[index] for index in acted
    )
    turns = {trajectory.turn_ids[index]: trajectory.segment_ids[index] for index in acted}
    assert turns == {0: 0, 1: 1, 2: 1, 3: 2}, "a tool's answer opens no segment, a user's does"


def test_sampled_tokens_are_counted_in_finished_and_in_spoilt_episodes() -> None:
    on = stage(["[finish]"], ["hm", "[search] a"])
    fault = Fault(StopReason.WORLD_DIED, "killed")
    on.host = ScriptedHost(
        results={("e0", 0): cast.SOLVED}, faults={("e1", Hear): fault, ("e9", Act): fault}
    )
    rollout = on.play()
    written = {"e0": len(cast.encode("[finish]")), "e1": len(cast.encode("hm"))}
    assert {key: actions for key, (_, actions) in rollout.num_tokens.items()} == written
    prompt = len(cast.ByteChat().open("rules", "hello"))
    assert rollout.num_tokens["e1"][0] == prompt + written["e1"]


def test_the_end_that_is_forced_on_a_cut_turn_is_no_action() -> None:
    on = stage(["this is far too long for one turn", "[finish]"])
    on.host = ScriptedHost(results={("e0", 1): cast.SOLVED})
    (trajectory,) = on.play().trajectories
    parts = list(spans(trajectory))
    assert parts[1] == (True, tuple(b"this is far too long"))
    assert parts[2][1][0] == cast.END and not parts[2][0]


def test_the_last_allowed_move_is_carried_out_and_paid() -> None:
    on = stage(["[search] a", "[search] b", "[answer] c", "never said"])
    on.host = ScriptedHost(
        results={("e0", 2): StepResult("chosen", events=("choice_best",), reward=0.5)}
    )
    rollout = on.play(environment__max_steps=3)
    episode = only(rollout)
    assert (episode.stop, episode.num_agent_turns) == (StopReason.OUT_OF_STEPS, 3)
    assert [action.content for action in on.host.moves["e0"]] == ["a", "b", "c"]
    assert episode.rewards == (RewardEvent("task", 0.5, 2), RewardEvent("task", 0.25, 2))
    assert rollout.trajectories[0].rewards[-1] == 0.75
    assert on.host.settings["e0"] == {
        "max_steps": 3,
        "prompt_style": "compact",
        "tool_deadline_s": 10.0,
    }


def test_an_ending_in_the_last_turn_is_the_worlds_and_not_the_limit() -> None:
    on = stage(["[search] a", "[search] b", "[answer] c"])
    on.host = ScriptedHost(results={("e0", 2): cast.SOLVED})
    assert only(on.play(environment__max_steps=3)).stop is StopReason.SOLVED


def test_a_user_that_ends_in_the_last_turn_ends_the_episode() -> None:
    on = stage(["hm", "hm", "bye"])
    on.user = ScriptedUser(told={"bye": cast.answer("bye", ends=True)})
    episode = only(on.play(environment__max_steps=3))
    assert episode.stop is StopReason.USER_ENDED
    assert on.host.heard["e0"] == ["symbolic 1", "symbolic 2", "bye"]


def test_three_unreadable_moves_in_a_row_get_the_floor() -> None:
    on = stage(["[fly] away"])
    rollout = on.play(reward__malformed_floor=-0.5, environment__max_steps=10)
    episode = only(rollout)
    assert (episode.stop, episode.num_agent_turns) == (StopReason.MALFORMED, 3)
    assert episode.rewards == (RewardEvent("floor", -0.5, 2),)
    assert len(on.host.moves["e0"]) == 3, "the world says what is wrong, each time"
    assert rollout.trajectories[0].rewards[-1] == -0.5
    assert episode.stop.outcome is Outcome.FINISHED


def test_a_readable_move_in_between_starts_the_count_again() -> None:
    on = stage(["[fly]", "[fly]", "[search] a", "[fly]", "[fly]", "[finish]"])
    on.host = ScriptedHost(results={("e0", 5): cast.SOLVED})
    assert only(on.play()).stop is StopReason.SOLVED


def test_a_user_without_an_answer_costs_its_episode_alone() -> None:
    on = stage(["which?"], ["hm", "[finish]"])
    on.host = ScriptedHost(results={("e1", 1): cast.SOLVED})
    on.user = ScriptedUser(told={"which?": UserFailure("no answer in 60 s")})
    rollout = on.play()
    spoilt, fine = rollout.episodes
    assert (spoilt.stop, spoilt.error) == (StopReason.USER_ERROR, "no answer in 60 s")
    assert (spoilt.rewards, spoilt.success) == ((), None)
    assert fine.stop is StopReason.SOLVED
    assert [one.episode_id for one in rollout.trajectories] == ["e1"]
    assert on.host.judged == ["e1"]


@pytest.mark.parametrize("call", [Start, Act, Hear])
@pytest.mark.parametrize("stop", [StopReason.WORLD_HUNG, StopReason.WORLD_INVALID])
def test_a_fault_of_the_world_is_a_reason_and_never_a_zero(call: type, stop: StopReason) -> None:
    on = stage(["hm"], ["[finish]"])
    on.host = ScriptedHost(
        results={("e1", 0): cast.SOLVED}, faults={("e0", call): Fault(stop, "it broke")}
    )
    rollout = on.play()
    spoilt, fine = rollout.episodes
    assert (spoilt.stop, spoilt.error, spoilt.success) == (stop, "it broke", None)
    assert spoilt.rewards == ()
    assert fine.stop is StopReason.SOLVED
    assert_counts(rollout)


def test_a_verifier_that_fails_leaves_no_verdict_and_no_payment() -> None:
    on = stage(["[search] a", "[finish]"])
    on.host = ScriptedHost(
        results={("e0", 1): cast.SOLVED},
        faults={("e0", Judge): Fault(StopReason.WORLD_ERROR, "verifier raised")},
    )
    rollout = on.play()
    episode = only(rollout)
    assert (episode.stop, episode.error) == (StopReason.WORLD_ERROR, "verifier raised")
    assert (episode.success, episode.rewards, rollout.trajectories) == (None, (), ())


def test_a_context_that_is_full_cuts_the_episode_and_it_is_still_judged() -> None:
    on = stage(["hm"], config=RolloutConfig(max_new_tokens=20, context_tokens=60))
    rollout = on.play(environment__max_steps=30)
    episode = only(rollout)
    assert episode.stop is StopReason.OUT_OF_TOKENS and episode.stop.truncated
    assert episode.success == 0.5
    assert len(rollout.trajectories[0].ids) < 60
    for request in on.sampler.asked:
        assert len(request.ids) + request.max_new_tokens <= 60


def test_an_engine_whose_context_is_full_cuts_the_episode_too() -> None:
    full = Completion((), (), Finish.LENGTH, 3)
    rollout = stage(["hm", full]).play()
    assert only(rollout).stop is StopReason.OUT_OF_TOKENS
    assert len(rollout.trajectories) == 1


def test_an_episode_without_a_token_of_the_policy_is_dropped() -> None:
    on = stage([Completion((), (), Finish.LENGTH, 3)], ["[finish]"])
    on.host = ScriptedHost(results={("e1", 0): cast.SOLVED})
    rollout = on.play()
    assert rollout.episodes[0].stop is StopReason.NO_ACTION
    assert rollout.num_tokens["e0"][1] == 0
    assert [one.episode_id for one in rollout.trajectories] == ["e1"]


def test_a_prompt_that_does_not_fit_is_dropped_and_says_what_to_raise() -> None:
    episode = only(stage(["hm"], config=replace(SMALL, context_tokens=10)).play())
    assert episode.stop is StopReason.NO_ACTION
    assert "rollout.context_tokens is 10: raise it" in (episode.error or "")


@pytest.mark.parametrize(
    ("completion", "error"),
    [
        (Completion((65,), (-1.0,), Finish.STOP, 2), "policy version 2 in an episode of version 3"),
        (Completion((), (), Finish.FAILED, 3, "engine is gone"), "engine is gone"),
    ],
)
def test_tokens_of_another_policy_or_of_none_spoil_the_episode(
    completion: Completion, error: str
) -> None:
    rollout = stage(["hm", completion]).play()
    episode = only(rollout)
    assert episode.stop is StopReason.SAMPLER_ERROR
    assert error in (episode.error or "")
    assert rollout.trajectories == ()


def test_results_stand_in_the_order_of_the_tasks_whoever_was_first() -> None:
    scripts = [["hm"] * index + ["[finish]"] for index in (3, 0, 2, 1)]
    on = stage(*scripts)
    on.host = ScriptedHost(
        results={(f"e{n}", len(script) - 1): cast.SOLVED for n, script in enumerate(scripts)}
    )
    rollout = on.play()
    assert [one.id for one in rollout.episodes] == ["e0", "e1", "e2", "e3"]
    assert [one.task_id for one in rollout.episodes] == ["t0", "t1", "t2", "t3"]
    assert [one.episode_id for one in rollout.trajectories] == ["e0", "e1", "e2", "e3"]
    assert [one.num_agent_turns for one in rollout.episodes] == [4, 1, 3, 2]
    assert all(one.stop is StopReason.SOLVED for one in rollout.episodes)


def test_a_dialogue_does_not_depend_on_its_company() -> None:
    alone = stage(["which?", "[finish]"]).play(environment__max_steps=4)
    beside = stage(["which?", "[finish]"], ["hm"], ["[fly]"]).play(environment__max_steps=4)
    assert beside.episodes[0] == alone.episodes[0]
    assert beside.trajectories[0] == alone.trajectories[0]


def test_what_a_user_thinks_is_in_no_token_and_in_no_words_that_the_agent_reads() -> None:
    on = stage(["which?", "[finish]"])
    told = cast.answer("the blue one", private={"thought": "SECRET", "strategy": "STALL"})
    on.user = ScriptedUser(told={"which?": told})
    on.host = ScriptedHost(results={("e0", 1): cast.SOLVED})
    rollout = on.play()
    read = bytes(token for token in rollout.trajectories[0].ids if token < 256)
    assert b"the blue one" in read
    for secret in (b"SECRET", b"STALL", b"told"):
        assert secret not in read
    turns = only(rollout).turns
    assert all("SECRET" not in turn.text for turn in turns)
    assert turns[3].private == {"rule": "told", "thought": "SECRET", "strategy": "STALL"}


def test_a_user_reads_the_conversation_and_no_tool() -> None:
    on = stage(["[search] a", "which?", "[finish]"])
    on.host = ScriptedHost(results={("e0", 2): cast.SOLVED})
    on.play()
    (request,) = on.user.asked
    assert [turn.text for turn in request.history] == ["hello", "[search] a", "which?"]
    assert request.message == "which?"


def test_the_draw_of_the_voice_goes_by_episode_or_by_turn() -> None:
    names = {Voice.SYMBOLIC, Voice.NOISY}
    on = stage(*[["hm"]] * 24)
    rollout = on.play(user__user_strategy_mix=0.5, environment__max_steps=4)
    assert {one.arm for one in rollout.episodes} == names
    for one in rollout.episodes:
        assert {turn.voice for turn in one.turns if turn.voice} == {one.arm}
    mixed = stage(*[["hm"]] * 24).play(
        user__user_strategy_mix=0.5, user__mix_unit="turn", environment__max_steps=4
    )
    spoke = [{turn.voice for turn in one.turns if turn.voice} for one in mixed.episodes]
    assert names in spoke


@pytest.mark.parametrize(("mix", "voice"), [(1.0, Voice.SYMBOLIC), (0.0, Voice.NOISY)])
def test_a_mix_of_one_or_zero_is_exact(mix: float, voice: Voice) -> None:
    rollout = stage(*[["hm"]] * 16).play(user__user_strategy_mix=mix, environment__max_steps=3)
    assert {one.arm for one in rollout.episodes} == {voice}


def test_an_episode_that_takes_too_long_is_quarantined() -> None:
    on = stage(["hm"])
    on.user.on_reply = on.clock.advance(40.0)
    episode = only(on.play(environment__episode_deadline_s=100.0, environment__max_steps=30))
    assert episode.stop is StopReason.EPISODE_DEADLINE
    assert episode.num_agent_turns == 3
    assert "100.0 s" in (episode.error or "")


def test_a_step_that_takes_too_long_keeps_what_is_done() -> None:
    on = stage(["[finish]"], ["hm"])
    on.host = ScriptedHost(results={("e0", 0): cast.SOLVED})
    on.sampler.on_sample = on.clock.advance(30.0)
    rollout = on.play(environment__step_deadline_s=50.0, environment__max_steps=30)
    assert [one.stop for one in rollout.episodes] == [StopReason.SOLVED, StopReason.STEP_DEADLINE]
    assert [one.episode_id for one in rollout.trajectories] == ["e0"]
    assert rollout.timings["sample"] == 60.0


def test_a_call_gets_the_shorter_of_the_two_deadlines() -> None:
    on = stage(["hm"])
    on.play(
        environment__tool_deadline_s=9.0, environment__turn_deadline_s=4.0, environment__max_steps=3
    )
    assert set(on.host.deadlines[:-1]) == {4.0}


def test_a_deadline_of_one_world_is_in_force_there_and_the_world_knows_it() -> None:
    on = stage(["hm"])
    on.play(
        environment__worlds={"travel": {"tool_deadline_s": 3.0}},
        environment__tool_deadline_s=9.0,
        environment__max_steps=3,
    )
    assert set(on.host.deadlines[:-1]) == {3.0}
    assert on.host.settings["e0"]["tool_deadline_s"] == 3.0


def test_everybody_is_let_go_even_when_the_program_breaks() -> None:
    on = stage(["hm"], ["hm"])

    def break_down() -> None:
        raise KeyError("a bug")

    on.user.on_reply = break_down
    with pytest.raises(KeyError, match="a bug"):
        on.play()
    assert on.host.closed == {"e0", "e1"} == on.sampler.released


def test_the_end_of_a_rollout_lets_everybody_go() -> None:
    on = stage(["hm"], ["[fly]"])
    on.play(environment__max_steps=3)
    assert on.host.closed == {"e0", "e1"} == on.sampler.released


def test_a_scale_of_a_world_multiplies_its_payments() -> None:
    on = stage(["[finish]"])
    on.host = ScriptedHost(results={("e0", 0): cast.SOLVED})
    rollout = on.play(environment__per_world_scale={"travel": 2.0})
    assert only(rollout).total_reward == 2.5


def test_a_world_of_its_own_files_is_played_as_any_other() -> None:
    on = stage(["[search] a", "hello"], world="calm")
    with LocalHost(hostile.folders("calm")) as host:
        rollout = on.play(host, environment__max_steps=4)
    episode = only(rollout)
    assert episode.stop is StopReason.OUT_OF_STEPS
    assert (episode.success, episode.metrics) == (1.0, {"moves": 4})
    assert episode.total_reward == pytest.approx(4 * 0.5 + 1.0)
    tool = [turn.text for turn in episode.turns if turn.speaker is Speaker.TOOL]
    assert tool[0] == "1 search a"


@pytest.mark.parametrize("seed", range(4))
def test_started_is_finished_and_quarantined_and_dropped(seed: int) -> None:
    kinds: list[list[str | Completion]] = [
        ["[finish]"],
        ["hm"],
        ["[fly]"],
        [Completion((), (), Finish.LENGTH, 3)],
        [Completion((), (), Finish.FAILED, 3, "gone")],
        ["which?"],
        ["this is far too long for one turn"],
        ["[search] a"],
    ]
    scripts = [kinds[(index * 3 + seed) % len(kinds)] for index in range(16)]
    on = stage(*scripts)
    on.user = ScriptedUser(told={"which?": UserFailure("no")})
    on.host = ScriptedHost(
        results={(f"e{n}", 0): cast.SOLVED for n, one in enumerate(scripts) if one == kinds[0]},
        faults={(f"e{seed}", Start): Fault(StopReason.WORLD_ERROR, "x")},
    )
    rollout = on.play(environment__max_steps=5)
    assert len(rollout.episodes) == 16
    assert_counts(rollout)
    assert {one.stop.outcome for one in rollout.episodes} == set(Outcome)
