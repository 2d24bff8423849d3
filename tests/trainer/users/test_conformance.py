"""Every user engine passes the same suite."""

from __future__ import annotations

import json

import pytest

from tests.conformance import user_suite
from tests.trainer.users.dialogue import QUESTIONS, request, rules
from tests.trainer.users.scripted_model import ScriptedModel
from trainer.users.chat import Chat
from trainer.users.llm import LLMUser
from trainer.users.noisy import NoiseRates, NoisyUser
from trainer.users.seam import UserState
from trainer.users.symbolic import SymbolicUser


def _play(chat: Chat, seed: int) -> str:
    """Say one of a few things, as a model with a fixed seed would."""
    words = ("Noise keeps me up.", "Hm, I do not know.", "I swim at dawn. I work until five.")
    strategy = ("reveal_piece", "be_vague", "reveal_piece")
    choice = seed % len(words)
    said = {"thought": "I must stay calm.", "strategy": strategy[choice], "message": words[choice]}
    return json.dumps(said)


ENGINES: dict[str, user_suite.MakeEngine] = {
    "symbolic": lambda: SymbolicUser(rules()),
    "without rules": lambda: SymbolicUser(rules("")),
    "noisy": lambda: NoisyUser(
        SymbolicUser(rules()), NoiseRates(drift=0.2, leak=0.3, forgetting=0.2, early_stop=0.1)
    ),
    "llm": lambda: LLMUser(ScriptedModel(_play)),
}

REQUESTS = [
    request(message, seed=seed, state=state, facts_per_reply=2, max_reply_chars=60)
    for seed, message in enumerate(
        [*QUESTIONS.values(), "Hello.", "I recommend F8.", "room? seat?"]
    )
    for state in (
        UserState(),
        UserState({"P1": 1}, num_replies=3, num_questions=2, num_unhelpful=1),
        UserState({"P2": 1}, num_replies=1, withdrawn=frozenset({"P1"})),
    )
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("check", user_suite.CHECKS)
def test_an_engine_passes(engine: str, check: str) -> None:
    user_suite.CHECKS[check](ENGINES[engine], REQUESTS)
