"""Everyone a rollout needs, scripted: a chat of bytes, a sampler, worlds, users and a clock.

Each is a real implementation of its protocol. What they say is decided by the test, by dialogue
and turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gate.contract import knobs
from gate.contract.knobs import Knobs
from gate.contract.sides import Side
from gate.guard import Condition
from trainer.episode import Speaker, StopReason, Turn, Voice
from trainer.message import Action, Choice
from trainer.policy.sampler import Completion, Finish, Incident, SampleRequest
from trainer.rollout.collect import Rollout, collect
from trainer.rollout.config import RolloutConfig
from trainer.rollout.places import Place, Places
from trainer.rollout.scene import Scene
from trainer.rollout.schedule import Assignment
from trainer.task import Task
from trainer.users.seam import UserEngine, UserFailure, UserReply, UserRequest, UserState
from trainer.worlds.calls import (
    Act,
    Answered,
    Call,
    Fault,
    Hear,
    Host,
    Judge,
    Rejudge,
    Result,
    Start,
)
from trainer.worlds.seam import Opening, StepResult, Verdict

END, SYSTEM, USER, AGENT, TOOL = range(256, 261)
"""Special tokens; everything below is a byte of text."""
MARKS = {
    Speaker.SYSTEM: SYSTEM,
    Speaker.USER: USER,
    Speaker.AGENT: AGENT,
    Speaker.TOOL: TOOL,
}


class ByteChat:
    """A chat format in which every byte is a token."""

    def open(self, system: str, user: str) -> list[int]:
        """Return the prompt."""
        return [SYSTEM, *system.encode(), END, USER, *user.encode(), END, AGENT]

    def extend(self, messages: Sequence[tuple[Speaker, str]], *, ended: bool) -> list[int]:
        """Return what stands between two turns of the agent."""
        said = [t for who, text in messages for t in (MARKS[who], *text.encode(), END)]
        return [*([] if ended else [END]), *said, AGENT]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a turn."""
        return bytes(token for token in ids if token < 256).decode()


def encode(text: str) -> tuple[int, ...]:
    """Return a whole turn as the policy samples it, its end token included."""
    return (*text.encode(), END)


@dataclass
class ScriptedSampler:
    """Says what it is told to; an entry of the script may be words or a whole completion."""

    script: Mapping[str, Sequence[str | Completion]]
    """By dialogue, its turns; the last is repeated."""
    policy_version: int = 3
    asked: list[SampleRequest] = field(default_factory=list)
    released: set[str] = field(default_factory=set)
    on_sample: Callable[[], None] = lambda: None

    def sample(
        self, requests: Sequence[SampleRequest], *, temperature: float, greedy: bool = False
    ) -> list[Completion]:
        """Answer every request from the script."""
        self.on_sample()
        return [self._complete(request) for request in requests]

    def _complete(self, request: SampleRequest) -> Completion:
        turns = self.script[request.dialogue]
        said = sum(earlier.dialogue == request.dialogue for earlier in self.asked)
        # The rollout goes on appending to the list that it passed.
        self.asked.append(replace(request, ids=tuple(request.ids)))
        entry = turns[min(said, len(turns) - 1)]
        if isinstance(entry, Completion):
            return entry
        ids = encode(entry)
        finish = Finish.STOP if len(ids) <= request.max_new_tokens else Finish.LENGTH
        ids = ids[: request.max_new_tokens]
        logprobs = tuple(-0.5 - 0.001 * index for index in range(len(ids)))
        return Completion(ids, logprobs, finish, self.policy_version)

    def release(self, dialogues: Sequence[str]) -> None:
        """Note who was released."""
        self.released |= set(dialogues)

    def sync(self, policy_version: int) -> None:
        """Take on a version."""
        self.policy_version = policy_version

    def health(self) -> Mapping[str, Any]:
        """Tell nothing."""
        return {}

    def incidents(self) -> list[Incident]:
        """Have none."""
        return []

    def close(self) -> None:
        """Hold nothing."""


@dataclass
class ScriptedHost:
    """Worlds that pass words on, count moves, and answer calls in the reverse order."""

    faults: Mapping[tuple[str, type], Fault] = field(default_factory=dict)
    """By episode and kind of call, what goes wrong."""
    results: Mapping[tuple[str, int], StepResult] = field(default_factory=dict)
    """By episode and move, what the world answers; else it passes words on to the user."""
    verdict: Verdict = field(default_factory=lambda: Verdict(0.5, 0.25, {"moves": 1.0}))
    pinned_verdict: Verdict = field(default_factory=lambda: Verdict(0.25, 0.0))
    """On dialogues that were played elsewhere."""
    rejudged: dict[str, Sequence[Turn]] = field(default_factory=dict)
    moves: dict[str, list[Action]] = field(default_factory=dict)
    heard: dict[str, list[str]] = field(default_factory=dict)
    judged: list[str] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    settings: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    deadlines: list[float] = field(default_factory=list)
    on_call: Callable[[], None] = lambda: None

    def check(self, world: str) -> Fault | None:
        """Every world can be used."""
        return None

    def open(self, key: str, task: Task, *, settings: Mapping[str, Any], seed: int) -> None:
        """Begin an episode."""
        self.moves[key], self.heard[key], self.settings[key] = [], [], settings

    def call(self, calls: Mapping[str, Call], *, deadline_s: float) -> dict[str, Result]:
        """Answer all calls, the last one first."""
        self.on_call()
        self.deadlines.append(deadline_s)
        return {key: self._answer(key, call) for key, call in reversed(list(calls.items()))}

    def close(self, keys: Iterable[str]) -> None:
        """Note who was closed."""
        self.closed |= set(keys)

    def _answer(self, key: str, call: Call) -> Result:
        if (key, type(call)) in self.faults:
            return self.faults[key, type(call)]
        match call:
            case Start():
                return Opening("rules", "hello")
            case Act():
                self.moves[key].append(call.action)
                return self._move(key, call.action)
            case Hear():
                self.heard[key].append(call.reply.text)
                return StepResult()
            case Judge():
                self.judged.append(key)
                return self.verdict
            case Rejudge():
                self.rejudged[key] = call.turns
                return self.pinned_verdict
            case Answered():
                raise AssertionError("these worlds ask no judge")

    def _move(self, key: str, action: Action) -> StepResult:
        number = len(self.moves[key]) - 1
        if (key, number) in self.results:
            return self.results[key, number]
        if action.choice is Choice.ACTION:
            return StepResult(say=action.content)
        return StepResult(f"saw {action.choice} {number}", events=(str(action.choice),))


@dataclass
class ScriptedUser:
    """A user that answers with its voice and a number, or as told."""

    voice: Voice = Voice.SYMBOLIC
    told: Mapping[str, UserReply | UserFailure] = field(default_factory=dict)
    """What it answers to a message."""
    asked: list[UserRequest] = field(default_factory=list)
    on_reply: Callable[[], None] = lambda: None

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Answer a batch."""
        self.on_reply()
        self.asked += requests
        return [self._one(request) for request in requests]

    def _one(self, request: UserRequest) -> UserReply | UserFailure:
        state = replace(request.state, num_replies=request.state.num_replies + 1)
        answer = self.told.get(request.message)
        if isinstance(answer, UserReply):
            return replace(answer, state=state, voice=self.voice)
        return answer or UserReply(f"{self.voice} {state.num_replies}", self.voice, state, "echo")


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def advance(self, seconds: float) -> Callable[[], None]:
        """Return an action that lets time pass."""

        def act() -> None:
            self.now += seconds

        return act


def answer(text: str, **other: Any) -> UserReply:
    """Return an answer of a user, whose state and voice its engine fills in."""
    return UserReply(text, Voice.SYMBOLIC, UserState(), rule="told", **other)


def assignments(count: int, *, world: str = "travel") -> tuple[Assignment, ...]:
    """Return as many episodes to play, named `e0`, `e1`, ..."""
    return tuple(
        Assignment(
            episode_id=f"e{index}",
            task=Task(f"t{index}", world, "goal", "hello"),
            group_id=f"g{index}",
            rollout_index=0,
            seed=100 + index,
        )
        for index in range(count)
    )


def values(**overrides: Any) -> Knobs:
    """Return knobs: the defaults, and overrides as `user__max_reveals=3`."""
    changed = {name: dict(content) for name, content in knobs.defaults().values.items()}
    for key, value in {"user__user_strategy_mix": 1.0, **overrides}.items():
        name, _, knob = key.partition("__")
        changed[name][knob] = value
    return knobs.from_values(changed, worlds=("travel", "intention"))


def conditions(**overrides: Any) -> dict[Side, Condition]:
    """Return what every dialogue plays under: `values`, as revision 7."""
    return {Side.IN_FORCE: Condition(values(**overrides), revision=7, world_revision=0)}


def places(worlds: Host, users: Mapping[Voice, UserEngine]) -> Places:
    """Return the same worlds and users at every revision."""
    return Places(lambda revision: Place(worlds, users))


@dataclass
class Stage:
    """A scene and what belongs to it; `play` runs it once."""

    sampler: ScriptedSampler
    host: ScriptedHost = field(default_factory=ScriptedHost)
    user: ScriptedUser = field(default_factory=ScriptedUser)
    other: ScriptedUser = field(default_factory=lambda: ScriptedUser(Voice.NOISY))
    config: RolloutConfig = field(
        default_factory=lambda: RolloutConfig(max_new_tokens=20, context_tokens=400)
    )
    clock: Clock = field(default_factory=Clock)
    world: str = "travel"

    def play(self, worlds: Host | None = None, **overrides: Any) -> Rollout:
        """Collect one episode for every dialogue of the sampler's script."""
        engines: dict[Voice, UserEngine] = {
            Voice.SYMBOLIC: self.user,
            Voice.NOISY: self.other,
        }
        scene = Scene(
            sampler=self.sampler,
            chat=ByteChat(),
            places=places(worlds or self.host, engines),
            other_voice=Voice.NOISY,
            config=self.config,
            prompt_styles={},
            temperature=1.0,
            clock=self.clock,
        )
        return collect(
            assignments(len(self.sampler.script), world=self.world),
            scene,
            conditions=conditions(**overrides),
        )


def stage(*turns: Sequence[str | Completion], **other: Any) -> Stage:
    """Return a stage on which dialogue `e0` says the first turns, `e1` the second, ..."""
    sampler = ScriptedSampler({f"e{index}": told for index, told in enumerate(turns)})
    return Stage(sampler, **other)


SOLVED = StepResult("well done", events=("choice_best",), reward=1.0, stop=StopReason.SOLVED)
