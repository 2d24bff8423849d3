"""A scripted player lives an episode with the turns, payments and endings of a real rollout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from trainer.episode import Episode, Speaker, StopReason, Turn, Voice
from trainer.message import Action, Choice, Reply
from trainer.rollout.reward import RewardScheme, ShapingRule
from trainer.rollout.scripted import play
from trainer.task import Fact, Task
from trainer.users.seam import UserFailure, UserReply, UserRequest
from trainer.worlds.seam import Opening, StepResult, Verdict

TASK = Task("t", "toy", "a goal", "Hello.", (Fact("P1", "k", "secret", "I like red."),))


@dataclass
class ToyEnv:
    """A world of one right answer, `red`; it writes down what it was asked to do."""

    calls: list[str] = field(default_factory=list)
    solved: bool = False

    def start(self) -> Opening:
        """Open with a greeting."""
        self.calls.append("start")
        return Opening("Rules.", "Hello.")

    def act(self, action: Action) -> StepResult:
        """Pass words on, take choices."""
        self.calls.append(action.choice)
        if action.choice is Choice.ACTION:
            return StepResult(say=action.content)
        if action.choice is Choice.MALFORMED:
            return StepResult("Mend it.", events=("malformed",))
        self.solved = action.content == "red"
        stop = StopReason.SOLVED if self.solved else None
        return StepResult("ok", events=("chosen",), reward=0.5 * self.solved, stop=stop)

    def hear(self, reply: Reply) -> StepResult:
        """Note what was told."""
        self.calls.append("hear")
        return StepResult(events=("told",) * len(reply.revealed), withdrawn=("P9",))

    def verdict(self) -> Verdict:
        """Pay the rest if the answer was right."""
        self.calls.append("verdict")
        return Verdict(float(self.solved), 0.25 * self.solved, {"m": 1.0})


@dataclass
class ToyUser:
    """Answers everything with the first fact, and keeps the requests."""

    ends: bool = False
    fails: bool = False
    requests: list[UserRequest] = field(default_factory=list)

    @property
    def voice(self) -> Voice:
        """Always symbolic."""
        return Voice.SYMBOLIC

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Answer, or fail when told to."""
        self.requests += requests
        if self.fails:
            return [UserFailure("no endpoint") for _ in requests]
        return [
            UserReply(
                "I like red.",
                self.voice,
                replace(request.state, num_replies=request.state.num_replies + 1),
                "reveal",
                ("P1",),
                self.ends,
            )
            for request in requests
        ]


@dataclass
class Reader:
    """Says its lines one after the other, and the last one again and again."""

    lines: tuple[str, ...]
    seen: list[tuple[Turn, ...]] = field(default_factory=list)

    def move(self, turns: Sequence[Turn]) -> str:
        """Say the next line."""
        self.seen.append(tuple(turns))
        return self.lines[min(len(self.seen), len(self.lines)) - 1]


def lived(
    *lines: str, env: ToyEnv | None = None, user: ToyUser | None = None, **options: Any
) -> Episode:
    """An episode of a player that says these lines."""
    return play(
        TASK,
        Reader(lines),
        env=env or ToyEnv(),
        user=user or ToyUser(),
        user_settings={},
        **{"max_steps": 5, "seed": 1, **options},
    )


def test_turns_stand_in_the_order_they_were_said() -> None:
    episode = lived("[action] Which?", "[answer] red")
    assert [(turn.speaker, turn.text) for turn in episode.turns] == [
        (Speaker.SYSTEM, "Rules."),
        (Speaker.USER, "Hello."),
        (Speaker.AGENT, "[action] Which?"),
        (Speaker.USER, "I like red."),
        (Speaker.AGENT, "[answer] red"),
        (Speaker.TOOL, "ok"),
    ]
    assert episode.turns[3].revealed == ("P1",)
    assert episode.turns[3].events == ("told",)
    assert episode.turns[5].events == ("chosen",)


def test_the_world_and_the_verifier_pay_the_turn_that_earned_it() -> None:
    episode = lived("[action] Which?", "[answer] red")
    assert [(event.rule, event.value, event.turn) for event in episode.rewards] == [
        ("task", 0.5, 1),
        ("task", 0.25, 1),
    ]
    assert (episode.stop, episode.success, episode.metrics) == (StopReason.SOLVED, 1.0, {"m": 1.0})


def test_shaping_rules_listen_to_the_events() -> None:
    scheme = RewardScheme(rules=(ShapingRule("ask", "told", 0.1),))
    episode = lived("[action] Which?", "[answer] red", scheme=scheme)
    assert [event.rule for event in episode.rewards] == ["ask", "task", "task"]


def test_the_last_allowed_move_is_carried_out() -> None:
    env = ToyEnv()
    episode = lived("[answer] blue", "[answer] red", env=env, max_steps=2)
    assert episode.stop is StopReason.SOLVED
    assert episode.num_agent_turns == 2


def test_the_limit_cuts_an_episode_after_its_last_move() -> None:
    env = ToyEnv()
    episode = lived("[answer] blue", env=env, max_steps=3)
    assert episode.stop is StopReason.OUT_OF_STEPS
    assert env.calls == ["start", "answer", "answer", "answer", "verdict"]
    assert episode.success == 0.0


def test_three_unreadable_moves_in_a_row_end_it() -> None:
    episode = lived("[answer]")
    assert episode.stop is StopReason.MALFORMED
    assert episode.num_agent_turns == 3


def test_a_readable_move_starts_the_count_again() -> None:
    episode = lived("[answer]", "[answer]", "[answer] blue", "[answer]", "[answer]")
    assert episode.stop is StopReason.OUT_OF_STEPS


def test_a_user_who_closes_ends_it_after_the_world_has_heard() -> None:
    env = ToyEnv()
    episode = lived("[action] Which?", env=env, user=ToyUser(ends=True))
    assert episode.stop is StopReason.USER_ENDED
    assert env.calls == ["start", "action", "hear", "verdict"]


def test_a_failing_user_is_no_verdict() -> None:
    env = ToyEnv()
    episode = lived("[action] Which?", env=env, user=ToyUser(fails=True))
    assert episode.stop is StopReason.USER_ERROR
    assert (episode.success, episode.rewards, episode.error) == (None, (), "no endpoint")
    assert "verdict" not in env.calls


def test_the_user_reads_neither_rules_nor_tools_and_remembers_what_is_withdrawn() -> None:
    user = ToyUser()
    lived("[answer] blue", "[action] Which?", "[action] And?", "[answer] red", user=user)
    first, second = user.requests
    assert {turn.speaker for turn in second.history} == {Speaker.USER, Speaker.AGENT}
    assert first.message == "Which?"
    assert second.state.withdrawn == {"P9"}
    assert second.state.num_replies == 1
    assert first.seed == second.seed


def test_an_episode_needs_a_turn() -> None:
    with pytest.raises(ValueError, match="max_steps is 0"):
        lived("[answer] red", max_steps=0)
