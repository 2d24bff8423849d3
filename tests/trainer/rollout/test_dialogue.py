"""A dialogue in progress: its first ending stands, and a spoilt one pays nothing."""

from __future__ import annotations

import pytest

from tests.trainer.rollout import cast
from trainer.episode import RewardEvent, Speaker, StopReason, Voice
from trainer.rollout.dialogue import Dialogue, opening_turns, visible_to_user
from trainer.rollout.reward import RewardScheme, ShapingRule
from trainer.users.seam import UserReply, UserState
from trainer.worlds.seam import StepResult, Verdict

SCHEME = RewardScheme(
    (ShapingRule("ask", "asked", 0.1, once=True), ShapingRule("look", "looked", 0.2)),
    malformed_floor=-0.5,
)


@pytest.fixture
def dialogue() -> Dialogue:
    (assignment,) = cast.assignments(1)
    new = Dialogue(
        assignment=assignment,
        arm=Voice.NOISY,
        revision=7,
        policy_version=3,
        scheme=SCHEME,
        max_steps=5,
        started_s=0.0,
    )
    new.turns = opening_turns("rules", "hello")
    new.stream.observe([1, 2, 3], starts_segment=True)
    return new


def speak(dialogue: Dialogue, text: str) -> None:
    dialogue.stream.act(len(dialogue.stream.ids), [65, 66], [-0.1, -0.2])
    dialogue.add_agent(text)


def test_the_first_reason_to_stop_stands(dialogue: Dialogue) -> None:
    dialogue.end(StopReason.SOLVED)
    dialogue.end(StopReason.WORLD_DIED, "too late")
    assert (dialogue.stop, dialogue.error) == (StopReason.SOLVED, None)


def test_an_answer_of_the_world_is_noted_paid_and_may_end_the_episode(dialogue: Dialogue) -> None:
    speak(dialogue, "[search] hotels")
    dialogue.take(StepResult("two hotels", events=("looked",), reward=0.25))
    assert dialogue.turns[-1].speaker is Speaker.TOOL
    assert dialogue.turns[-1].events == ("looked",)
    assert dialogue.unread == [(Speaker.TOOL, "two hotels")]
    assert dialogue.rewards == [RewardEvent("look", 0.2, 0), RewardEvent("task", 0.25, 0)]
    dialogue.take(StepResult(stop=StopReason.FAILED))
    assert dialogue.stop is StopReason.FAILED


def test_events_without_words_belong_to_the_newest_turn(dialogue: Dialogue) -> None:
    speak(dialogue, "which?")
    dialogue.take(StepResult(say="which?", events=("asked",)))
    assert dialogue.turns[-1].speaker is Speaker.AGENT
    assert dialogue.turns[-1].events == ("asked",)
    assert dialogue.unread == []


def test_a_rule_that_pays_once_is_remembered_over_turns(dialogue: Dialogue) -> None:
    for number in range(3):
        speak(dialogue, f"question {number}")
        dialogue.take(StepResult(events=("asked", "looked")))
    assert [event.rule for event in dialogue.rewards] == ["ask", "look", "look", "look"]
    assert [event.turn for event in dialogue.rewards] == [0, 0, 1, 2]


def test_what_is_private_to_the_user_is_kept_and_not_read(dialogue: Dialogue) -> None:
    speak(dialogue, "which?")
    state = UserState(num_replies=1)
    dialogue.add_reply(
        UserReply("blue", Voice.NOISY, state, "reveal", ("P1",), private={"thought": "secret"})
    )
    assert dialogue.turns[-1].private == {"rule": "reveal", "thought": "secret"}
    assert dialogue.unread == [(Speaker.USER, "blue")]
    assert dialogue.user_state is state


def test_withdrawn_facts_reach_the_users_state(dialogue: Dialogue) -> None:
    speak(dialogue, "[answer] B")
    dialogue.take(StepResult("done", withdrawn=("P1", "P2")))
    dialogue.take(StepResult("done", withdrawn=("P2", "P3")))
    assert dialogue.user_state.withdrawn == {"P1", "P2", "P3"}


def test_an_ending_pays_the_verifiers_rest(dialogue: Dialogue) -> None:
    speak(dialogue, "[answer] B")
    dialogue.end(StopReason.OUT_OF_STEPS)
    dialogue.judge(Verdict(0.5, 0.75, {"best": 1.0}))
    episode = dialogue.freeze()
    assert episode.rewards == (RewardEvent("task", 0.75, 0),)
    assert (episode.success, episode.metrics) == (0.5, {"best": 1.0})
    assert (episode.revision, episode.arm) == (7, Voice.NOISY)
    trajectory = dialogue.trajectory(episode)
    assert trajectory is not None
    assert trajectory.rewards == (0.0, 0.0, 0.0, 0.0, 0.75)


def test_a_malformed_ending_gets_the_floor(dialogue: Dialogue) -> None:
    speak(dialogue, "[fly]")
    dialogue.end(StopReason.MALFORMED)
    dialogue.judge(Verdict(0.0, 1.0))
    assert dialogue.freeze().rewards == (RewardEvent("floor", -0.5, 0),)


@pytest.mark.parametrize(
    "stop", [StopReason.WORLD_HUNG, StopReason.USER_ERROR, StopReason.SAMPLER_ERROR]
)
def test_a_spoilt_episode_pays_nothing_and_is_not_learnt_from(
    dialogue: Dialogue, stop: StopReason
) -> None:
    speak(dialogue, "[search] hotels")
    dialogue.take(StepResult("two hotels", events=("looked",), reward=0.25))
    dialogue.end(stop, "it broke")
    episode = dialogue.freeze()
    assert (episode.rewards, episode.success, episode.metrics) == ((), None, {})
    assert episode.error == "it broke"
    assert dialogue.trajectory(episode) is None


def test_the_user_reads_neither_tools_nor_rules(dialogue: Dialogue) -> None:
    speak(dialogue, "[search] hotels")
    dialogue.take(StepResult("two hotels"))
    speak(dialogue, "which?")
    assert [turn.text for turn in visible_to_user(dialogue.turns)] == [
        "hello",
        "[search] hotels",
        "which?",
    ]


def test_the_user_reads_what_acts_of_their_own_showed(dialogue: Dialogue) -> None:
    speak(dialogue, "Please restart your phone.")
    dialogue.add_reply(UserReply("Done.", Voice.SYMBOLIC, UserState(), rule="comply"))
    dialogue.take(StepResult("No service."))
    speak(dialogue, "[search] lines")
    dialogue.take(StepResult("two lines"))
    assert [turn.text for turn in visible_to_user(dialogue.turns)] == [
        "hello",
        "Please restart your phone.",
        "Done.",
        "No service.",
        "[search] lines",
    ]
