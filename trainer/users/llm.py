"""The LLM user: a model plays the persona, and its private side stays private.

Thoughts and strategy labels are recorded beside the reply and never in its text. What the model
told is read from its words. A model that fails costs its episode through a typed failure and
never raises. Where the model runs is not known here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trainer import seeds
from trainer.episode import Voice
from trainer.users.chat import Chat, ChatFailure, ChatModel
from trainer.users.cues import CueTables
from trainer.users.disclosed import disclosed_facts
from trainer.users.parse import Parsed, parse
from trainer.users.personas import PersonaError, persona_text
from trainer.users.prompt import OutputStyle, build_chat
from trainer.users.rules import RuleSet
from trainer.users.seam import UserFailure, UserReply, UserRequest
from trainer.users.settings import UserSettings, read_settings
from trainer.users.utterance import Utterance, read_utterance, trim

RULE = "llm"
"""`UserReply.rule` of every reply."""
PARTING_TEXT = "Goodbye."
"""What the agent reads when the user ends the conversation without a word."""


@dataclass(frozen=True)
class LLMUser:
    """Answers by asking a chat model to play the user.

    Faults of the model and personas that a world does not have are `UserFailure` values.
    """

    model: ChatModel
    rules: Mapping[str, RuleSet] = field(default_factory=dict)
    """By world; only the phrases by which questions are recognised are used."""
    personas: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Prose by world and persona (see `trainer.users.personas`)."""
    style: OutputStyle = OutputStyle.JSON
    max_tokens: int = 256
    attempts: int = 2
    """How often the model is asked before an empty message counts as a failure."""
    at_once: int = 1
    """How many batches the model may be asked for at once, from several threads."""
    _tables: CueTables = field(default_factory=CueTables, repr=False, compare=False)

    @property
    def voice(self) -> Voice:
        """Always `llm`."""
        return Voice.LLM

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Answer a batch of messages; those that share a temperature are asked together."""
        results: dict[int, UserReply | UserFailure] = {}
        chats: dict[int, Chat] = {}
        for index, request in enumerate(requests):
            try:
                chats[index] = self._chat(request)
            except PersonaError as error:
                # A persona is a live knob: a wrong name must not stop the run.
                results[index] = UserFailure(str(error))
        pending = list(chats)
        for attempt in range(self.attempts):
            outputs = self._ask(requests, chats, pending, attempt)
            for index, output in outputs.items():
                if isinstance(output, ChatFailure):
                    results[index] = UserFailure(output.reason)
                    continue
                reply = self._read(requests[index], output, attempt)
                if reply is not None:
                    results[index] = reply
            pending = [index for index in pending if index not in results]
        for index in pending:
            results[index] = UserFailure(
                f"the user's model gave no message in {self.attempts} attempts; see whether it "
                f"can follow the prompt, or choose another output style"
            )
        return [results[index] for index in range(len(requests))]

    def _ask(
        self,
        requests: Sequence[UserRequest],
        chats: Mapping[int, Chat],
        pending: list[int],
        attempt: int,
    ) -> dict[int, str | ChatFailure]:
        by_temperature: dict[float, list[int]] = defaultdict(list)
        for index in pending:
            by_temperature[read_settings(requests[index].settings).llm_temperature].append(index)
        outputs: dict[int, str | ChatFailure] = {}
        for temperature, indices in by_temperature.items():
            asked = [requests[index] for index in indices]
            completions = self.model.complete(
                [chats[index] for index in indices],
                temperature=temperature,
                max_tokens=self.max_tokens,
                seeds=[
                    seeds.derive(request.seed, "llm", request.state.num_replies, attempt)
                    for request in asked
                ],
            )
            outputs.update(zip(indices, completions, strict=True))
        return outputs

    def _chat(self, request: UserRequest) -> Chat:
        name = read_settings(request.settings).persona
        prose = persona_text(self.personas, request.task.world, name)
        return build_chat(request, persona=prose, style=self.style)

    def _read(self, request: UserRequest, output: str, attempt: int) -> UserReply | None:
        """Return the reply that an output makes, None if it has no message."""
        settings = read_settings(request.settings)
        table = self._tables.table(request.task)
        said = read_utterance(output, known_words=table.weights)
        if not said.text and said.marker is None:
            return None
        text = trim(said.text or PARTING_TEXT, settings.max_reply_chars)
        rule_set = self.rules.get(request.task.world, RuleSet())
        parsed = parse(request.message, table, rule_set.phrases)
        revealed = disclosed_facts(text, request.task)
        counts = dict(request.state.reveal_counts)
        for fact_id in revealed:
            counts[fact_id] = counts.get(fact_id, 0) + 1
        state = replace(
            request.state,
            reveal_counts=counts,
            num_replies=request.state.num_replies + 1,
            num_questions=request.state.num_questions + parsed.act.asks,
            num_unhelpful=0 if revealed else request.state.num_unhelpful + 1,
        )
        private = _private(said, text, parsed, settings, attempt)
        if self.style is OutputStyle.PLAIN and said.marker is None:
            # It was asked for words alone: giving no label is not giving a wrong one.
            del private["strategy"]
        return UserReply(
            text=text,
            voice=Voice.LLM,
            state=state,
            rule=RULE,
            revealed=revealed,
            ends=said.marker is not None,
            private=private,
        )


def _private(
    said: Utterance, text: str, parsed: Parsed, settings: UserSettings, attempt: int
) -> dict[str, Any]:
    """Return what is recorded of a reply and never shown to the agent."""
    record: dict[str, Any] = {
        "strategy": said.strategy.value,
        "thought": said.thought,
        "act": parsed.act.value,
        "attempts": attempt + 1,
        "trimmed": len(said.text) > settings.max_reply_chars,
    }
    if said.marker is not None:
        record["marker"] = said.marker
        record["replaced"] = text == PARTING_TEXT and not said.text
        # The agent was about to act when the user left: blame for a failure may be the user's.
        record["left_on_promise"] = parsed.promises
    return record
