"""A dialogue in progress: the one mutable thing of a rollout, frozen into values at its end.

It gathers turns, tokens, payments and the first reason to stop; later reasons are ignored, so
an ending is never rewritten. This module knows nothing about batches, processes or models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from trainer import trajectory
from trainer.episode import (
    Episode,
    Judgement,
    Outcome,
    RewardEvent,
    Speaker,
    StopReason,
    Turn,
    Voice,
)
from trainer.question import Answer, Answers, Question
from trainer.rollout.reaction import reactions
from trainer.rollout.reward import CLIP_RULE, RewardScheme, pay_end, pay_turn
from trainer.rollout.schedule import Assignment
from trainer.trajectory import TokenStream, Trajectory
from trainer.users.seam import UserReply, UserState
from trainer.worlds.seam import StepResult, Verdict


@dataclass
class Dialogue:
    """One episode while it is being lived."""

    assignment: Assignment
    arm: Voice
    revision: int
    policy_version: int
    scheme: RewardScheme
    max_steps: int
    started_s: float
    """Reading of the rollout's clock when the episode began."""
    stream: TokenStream = field(default_factory=TokenStream)
    turns: list[Turn] = field(default_factory=list)
    rewards: list[RewardEvent] = field(default_factory=list)
    user_state: UserState = field(default_factory=UserState)
    num_agent_turns: int = 0
    num_malformed: int = 0
    """Malformed actions in a row."""
    last_turn_ended: bool = True
    """False when the newest agent turn was cut by a length limit."""
    unread: list[tuple[Speaker, str]] = field(default_factory=list)
    """Messages that the agent has not been given as tokens yet."""
    masked_feedback: list[list[int]] = field(default_factory=list)
    """What the agent would have been given after each turn, had the messages said nothing."""
    stop: StopReason | None = None
    error: str | None = None
    verdict: Verdict | None = None
    pinned_success: float | None = None
    """The verdict of revision 0's verifier."""
    answers: dict[str, Answer] = field(default_factory=dict)
    """What a judge has said of it, by question."""
    judged: list[Judgement] = field(default_factory=list)

    @property
    def world(self) -> str:
        """Name of the world that it is played in."""
        return self.assignment.task.world

    @property
    def key(self) -> str:
        """Names the dialogue towards sampler and worlds."""
        return self.assignment.episode_id

    @property
    def on_file(self) -> Answers:
        """What a judge said of it when it was played before, by question."""
        return self.assignment.answers

    @property
    def turn_index(self) -> int:
        """Index of the newest agent turn, 0 before the first."""
        return max(self.num_agent_turns - 1, 0)

    def end(self, stop: StopReason, error: str | None = None) -> None:
        """Stop for a reason; the first reason stands."""
        if self.stop is None:
            self.stop, self.error = stop, error

    def add_agent(self, text: str) -> None:
        """Note what the agent said."""
        self.turns.append(Turn(Speaker.AGENT, text, self.num_agent_turns))
        self.num_agent_turns += 1

    def add_reply(self, reply: UserReply) -> None:
        """Note what the user said; the agent will read the text and nothing else of it."""
        self.turns.append(
            Turn(
                Speaker.USER,
                reply.text,
                self.turn_index,
                voice=reply.voice,
                revealed=reply.revealed,
                private={"rule": reply.rule, **reply.private},
            )
        )
        self.user_state = reply.state
        self.unread.append((Speaker.USER, reply.text))

    def take(self, result: StepResult) -> None:
        """Note the world's answer to the newest agent turn, pay it, and stop if it says so."""
        if result.observation:
            self.turns.append(
                Turn(Speaker.TOOL, result.observation, self.turn_index, events=result.events)
            )
            self.unread.append((Speaker.TOOL, result.observation))
        elif result.events:
            newest = self.turns[-1]
            self.turns[-1] = replace(newest, events=(*newest.events, *result.events))
        if result.withdrawn:
            withdrawn = self.user_state.withdrawn | set(result.withdrawn)
            self.user_state = replace(self.user_state, withdrawn=withdrawn)
        self.rewards += pay_turn(
            self.scheme,
            world=self.world,
            turn=self.turn_index,
            task_reward=result.reward,
            events=result.events,
            paid=frozenset(event.rule for event in self.rewards if event.rule != CLIP_RULE),
        )
        if result.stop is not None:
            self.end(result.stop)

    def take_answer(self, question: Question, answer: Answer, judge: str, *, pinned: bool) -> None:
        """Note what a judge said, the first time that it is asked."""
        if question.digest not in self.answers:
            self.answers[question.digest] = answer
            self.judged.append(
                Judgement(question.digest, judge, question.criteria, answer, pinned=pinned)
            )

    def judge(self, verdict: Verdict) -> None:
        """Take the verifier's word and pay what it still owes."""
        self.verdict = verdict
        assert self.stop is not None, "a dialogue is judged after its end"
        self.rewards += pay_end(
            self.scheme,
            turn=self.turn_index,
            task_reward=verdict.reward,
            policy_fault=self.stop.policy_fault,
        )

    def freeze(self) -> Episode:
        """Return what was lived; an ended dialogue is one value from here on."""
        assert self.stop is not None, "a dialogue is frozen after its end"
        counted = self.stop.outcome is not Outcome.QUARANTINED and self.verdict is not None
        return Episode(
            id=self.assignment.episode_id,
            task_id=self.assignment.task.id,
            world=self.world,
            arm=self.arm,
            turns=tuple(self.turns),
            rewards=tuple(self.rewards) if counted else (),
            stop=self.stop,
            revision=self.revision,
            seed=self.assignment.seed,
            success=self.verdict.success if counted and self.verdict else None,
            metrics=dict(self.verdict.metrics) if counted and self.verdict else {},
            error=self.error,
            side=self.assignment.side,
            pinned_success=self.pinned_success if counted else None,
            judged=tuple(self.judged),
        )

    def trajectory(self, episode: Episode) -> Trajectory | None:
        """Return the tokens to learn from; None when the episode must not be learnt from."""
        if episode.stop.outcome is not Outcome.FINISHED:
            return None
        return trajectory.from_stream(
            self.stream,
            episode,
            group_id=self.assignment.group_id,
            policy_version=self.policy_version,
            reactions=reactions(self.turns),
            masked_feedback=self.masked_feedback,
        )


def visible_to_user(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return what the user's side may read of a conversation: no system prompt, no agent's tools.

    A tool's words right after a reply are what the user's own acts showed, so they are there.
    """
    return tuple(
        turn
        for before, turn in zip((None, *turns), turns, strict=False)
        if turn.speaker in (Speaker.USER, Speaker.AGENT)
        or (before is not None and before.speaker is Speaker.USER)
    )


def opening_turns(system: str, user: str) -> list[Turn]:
    """Return the turns that stand before the agent's first move."""
    return [Turn(Speaker.SYSTEM, system, 0), Turn(Speaker.USER, user, 0)]
