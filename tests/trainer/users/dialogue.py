"""A small task, its rules and requests about it, for every test of users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.task import Fact, Task
from trainer.users.rule_file import parse_rules
from trainer.users.rules import RuleSet
from trainer.users.seam import UserEngine, UserReply, UserRequest, UserState

RULES_TEXT = """\
version: 1
rules:
  - {id: volunteer, when: {volunteer_due: true}, do: volunteer, say: ["By the way, {facts}"]}
  - id: reveal
    when: {act: [ask, both], match: [open]}
    do: reveal
    say: ["{facts}", "Well. {facts}", "{facts} That is it."]
  - {id: told, when: {act: [ask, both], match: [spent]}, do: decline, say: ["Told you."]}
  - {id: gone, when: {act: [ask, both], match: [withdrawn]}, do: decline, say: ["Never mind."]}
  - id: forgotten
    when: {act: [ask, both], match: [withheld]}
    do: forget
    say: ["I forget {kind}."]
  - id: unclear
    when: {score: {below: match_threshold}, act: [ask, both]}
    do: decline
    say: ["Ask specifically."]
  - id: early
    when: {act: [answer], questions: {below: min_questions}}
    do: nudge
    say: ["Ask more."]
  - {id: close, when: {act: [answer], promises: false}, do: close, say: ["Thanks, bye."]}
  - {id: nudge, do: nudge, say: ["Please ask me something.", "What do you want to know?"]}
"""

SETTINGS: dict[str, Any] = {
    "facts_per_reply": 1,
    "match_threshold": 0.6,
    "max_reveals": 2,
    "min_questions": 0,
    "reveal_kinds": ["*"],
    "volunteer_after": None,
    "max_reply_chars": 400,
    "persona": "plain",
    "llm_temperature": 0.7,
}

TASK = Task(
    id="toy-1",
    world="toy",
    goal="Book a hotel and a flight that suit me.",
    opening="I need a hotel and a flight.",
    facts=(
        Fact("P1", "hotel.room", "the room has to be: quiet", "Noise keeps me up.", ("room",)),
        Fact("P2", "hotel.area", "close to the: beach", "I swim at dawn.", ("area", "near")),
        Fact("P3", "flight.time", "leaves in the: evening", "I work until five.", ("time", "when")),
        Fact("P4", "flight.seat", "the seat has to be: aisle", "I stretch my legs.", ("seat",)),
    ),
)

QUESTIONS = {
    "P1": "Which room do you want?",
    "P2": "Which area should the hotel be in?",
    "P3": "What time should the flight leave?",
    "P4": "Any seat you prefer?",
}


def rules(text: str = RULES_TEXT) -> dict[str, RuleSet]:
    """The rule sets of the toy world."""
    return {"toy": parse_rules(text)}


def request(
    message: str,
    *,
    state: UserState | None = None,
    task: Task = TASK,
    seed: int = 7,
    history: tuple[Turn, ...] = (),
    **settings: Any,
) -> UserRequest:
    """A request with the default settings except those named."""
    return UserRequest(
        task=task,
        history=history or (Turn(Speaker.USER, task.opening, 0),),
        message=message,
        state=state or UserState(),
        settings=SETTINGS | settings,
        seed=seed,
    )


def answer(engine: UserEngine, asked: UserRequest) -> UserReply:
    """The one reply to one request, which must not be a failure."""
    (reply,) = engine.reply([asked])
    assert isinstance(reply, UserReply), reply
    return reply


def talk(
    engine: UserEngine,
    messages: Sequence[str],
    *,
    seed: int = 7,
    task: Task = TASK,
    **settings: Any,
) -> list[UserReply]:
    """The replies to messages said one after the other; the memory is carried on."""
    state = UserState()
    replies: list[UserReply] = []
    for message in messages:
        asked = request(message, state=state, seed=seed, task=task, **settings)
        replies.append(answer(engine, asked))
        state = replies[-1].state
    return replies
