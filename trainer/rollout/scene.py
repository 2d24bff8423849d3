"""The scene of a rollout: who takes part, and what each side plays under.

Every dialogue belongs to one side. Its knobs, its worlds and its users are those of that side's
condition from the first call to the last. This module knows nothing about the order of turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from gate.contract.knobs import Knobs
from gate.contract.sides import Side
from gate.guard import Condition
from trainer.episode import Speaker, Voice
from trainer.judges.seam import Judge
from trainer.policy.sampler import Sampler
from trainer.rollout.asking import settle
from trainer.rollout.config import RolloutConfig
from trainer.rollout.dialogue import Dialogue
from trainer.rollout.places import Place, Places
from trainer.rollout.sitting import Sitting
from trainer.worlds.calls import JUDGE_SETTING, Call, Result


class Chat(Protocol):
    """What a rollout needs of a chat format (see `trainer.policy.chat.ChatFormat`)."""

    def open(self, system: str, user: str) -> list[int]:
        """Return the prompt's tokens, the agent's first header included."""
        ...

    def extend(self, messages: Sequence[tuple[Speaker, str]], *, ended: bool) -> list[int]:
        """Return what stands between two turns of the agent; `ended` if it sampled its end."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of sampled tokens, special ones left out."""
        ...


@dataclass(frozen=True)
class Scene:
    """Everyone who takes part in a rollout, and its fixed settings."""

    sampler: Sampler
    chat: Chat
    places: Places
    """Worlds and users, by revision."""
    other_voice: Voice
    """Who plays the user when the symbolic user is not drawn."""
    config: RolloutConfig
    prompt_styles: Mapping[str, str]
    temperature: float
    clock: Callable[[], float]
    """Monotonic seconds."""
    greedy: bool = False
    placeholder: str | None = None
    """Stands in for every message of the masked feedback; None where no credit asks for it."""
    judge: Judge | None = None
    """Answers what worlds leave to a model; None where their rules decide all."""
    judged: frozenset[str] = frozenset()
    """The worlds that are told of the judge: those that declare what they ask one."""


@dataclass(frozen=True)
class Performance:
    """One rollout under way."""

    scene: Scene
    conditions: Mapping[Side, Condition]
    """What each side that is dealt plays under."""

    @cached_property
    def sitting(self) -> Sitting:
        """The judge, and what was said in this rollout."""
        return Sitting(self.scene.judge, self.scene.clock)

    def condition(self, dialogue: Dialogue) -> Condition:
        """Return what a dialogue is played under."""
        return self.conditions[dialogue.assignment.side]

    def knobs(self, dialogue: Dialogue) -> Knobs:
        """Return the knobs that a dialogue is played under."""
        return self.condition(dialogue).knobs

    def place(self, dialogue: Dialogue) -> Place:
        """Return the worlds and users that play with a dialogue."""
        return self.scene.places.at(self.condition(dialogue).world_revision)

    def limit_s(self, dialogue: Dialogue, name: str) -> float:
        """Return one of the deadlines, such as `drain_deadline_s`, in seconds."""
        return float(self.knobs(dialogue).get(f"environment.{name}", dialogue.world))

    def call_deadline_s(self, dialogue: Dialogue) -> float:
        """Return the seconds that one call into a dialogue's world may take."""
        return min(
            self.limit_s(dialogue, "tool_deadline_s"), self.limit_s(dialogue, "turn_deadline_s")
        )

    def settings(self, dialogue: Dialogue) -> dict[str, Any]:
        """Return what a dialogue's world is made with."""
        told = self.scene.judge is not None and dialogue.world in self.scene.judged
        return {
            "max_steps": dialogue.max_steps,
            "prompt_style": self.scene.prompt_styles.get(dialogue.world, "compact"),
            "tool_deadline_s": self.call_deadline_s(dialogue),
            **({JUDGE_SETTING: True} if told else {}),
        }

    def call(
        self,
        dialogues: Sequence[Dialogue],
        calls: Mapping[str, Call],
        deadline_s: Callable[[Dialogue], float],
    ) -> dict[str, Result]:
        """Ask the worlds of many dialogues, each at its own place, and return all results.

        What a world asks of a judge is answered on the way, whatever time that takes.

        Args:
            dialogues: In the order of the batch; those without a call are passed over.
            calls: At most one for each dialogue, by key.
            deadline_s: Seconds that a dialogue's call may take.
        """
        return settle(
            calls,
            {one.key: one for one in dialogues},
            lambda asked: self._ask_worlds(dialogues, asked, deadline_s),
            self.sitting,
        )

    def _ask_worlds(
        self,
        dialogues: Sequence[Dialogue],
        calls: Mapping[str, Call],
        deadline_s: Callable[[Dialogue], float],
    ) -> dict[str, Result]:
        batches: dict[tuple[int, float], dict[str, Call]] = {}
        for dialogue in dialogues:
            if dialogue.key in calls:
                batch = self.condition(dialogue).world_revision, deadline_s(dialogue)
                batches.setdefault(batch, {})[dialogue.key] = calls[dialogue.key]
        results: dict[str, Result] = {}
        for (revision, seconds), batch in batches.items():
            results |= self.scene.places.at(revision).worlds.call(batch, deadline_s=seconds)
        return results

    def close(self, dialogues: Sequence[Dialogue]) -> None:
        """End what the dialogues hold of worlds and sampler."""
        by_revision: dict[int, list[str]] = {}
        for dialogue in dialogues:
            by_revision.setdefault(self.condition(dialogue).world_revision, []).append(dialogue.key)
        for revision, keys in by_revision.items():
            self.scene.places.at(revision).worlds.close(keys)
        self.scene.sampler.release([dialogue.key for dialogue in dialogues])
