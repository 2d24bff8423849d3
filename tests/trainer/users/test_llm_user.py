"""A model plays the user: its private side is recorded and never said, its faults are typed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.trainer.users.dialogue import QUESTIONS, TASK, answer, request, talk
from tests.trainer.users.scripted_model import ScriptedModel
from tests.trainer.users.server import Answer, completion, serve
from trainer.episode import Voice
from trainer.task import Fact, Task
from trainer.users.chat import ChatFailure
from trainer.users.disclosed import disclosed_facts
from trainer.users.endpoint import EndpointModel
from trainer.users.llm import PARTING_TEXT, LLMUser
from trainer.users.seam import UserFailure, UserReply

ROOM = "Noise keeps me up."


def saying(*outputs: str) -> LLMUser:
    """A user whose model says these things one after the other, the last one for ever."""
    left = list(outputs)
    return LLMUser(ScriptedModel(lambda chat, seed: left.pop(0) if len(left) > 1 else left[0]))


def test_one_output_gives_words_label_thought_and_disclosed_facts() -> None:
    output = {"thought": "Only the room.", "strategy": "reveal_piece", "message": f"Well, {ROOM}"}
    reply = answer(saying(json.dumps(output)), request(QUESTIONS["P1"]))
    assert (reply.text, reply.voice, reply.rule) == (f"Well, {ROOM}", Voice.LLM, "llm")
    assert reply.revealed == ("P1",)
    assert reply.state.reveal_counts == {"P1": 1}
    assert reply.private["strategy"] == "reveal_piece"
    assert reply.private["thought"] == "Only the room."


@pytest.mark.parametrize(
    "output",
    [
        "<think>SECRET</think>Fine.",
        "Ann: [SECRET] Fine.",
        '{"thought": "SECRET", "message": "Fine."}',
        "<thought>SECRET</thought><message>Fine.</message>",
    ],
)
def test_private_text_is_recorded_and_never_said(output: str) -> None:
    reply = answer(saying(output), request("Hello."))
    assert reply.text == "Fine."
    assert "SECRET" in reply.private["thought"]


def test_an_empty_message_is_asked_for_again_with_another_seed() -> None:
    script = iter(['{"message": ""}', "Fine."])
    model = ScriptedModel(lambda chat, seed: next(script))
    assert answer(LLMUser(model), request("Hello.")).text == "Fine."
    assert len(set(model.seeds)) == 2


def test_a_message_that_stays_empty_is_a_failure() -> None:
    (result,) = saying("[SECRET]").reply([request("Hello.")])
    assert isinstance(result, UserFailure)
    assert "no message in 2 attempts" in result.reason
    assert "SECRET" not in result.reason


def test_a_stop_marker_ends_the_dialogue_and_text_beside_it_is_kept() -> None:
    reply = answer(saying("Thanks, order 123 ###STOP###"), request("Done."))
    assert (reply.text, reply.ends) == ("Thanks, order 123", True)
    assert (reply.private["marker"], reply.private["strategy"]) == ("stop", "close")


def test_a_stop_marker_alone_is_replaced_by_words() -> None:
    reply = answer(saying("###OUT-OF-SCOPE###"), request("Done."))
    assert (reply.text, reply.ends) == (PARTING_TEXT, True)
    assert reply.private["replaced"]
    assert (reply.private["marker"], reply.private["strategy"]) == ("out_of_scope", "invalid")


def test_leaving_while_the_agent_is_about_to_act_is_recorded() -> None:
    user = saying("Great, thanks! ###STOP###")
    assert answer(user, request("I will book it now.")).private["left_on_promise"]
    assert not answer(user, request("It is booked.")).private["left_on_promise"]


def test_a_long_message_is_cut_at_a_sentence_before_its_facts_are_counted() -> None:
    reply = answer(saying(f"Let me think. {ROOM}"), request("x", max_reply_chars=20))
    assert reply.text == "Let me think."
    assert reply.revealed == ()
    assert reply.private["trimmed"]


def test_the_counts_go_on_as_for_any_user() -> None:
    both = "I recommend F8. Which room?"
    replies = talk(saying("Hm.", ROOM, ROOM, "Hm."), [both, both, "Which room?", "Hello."])
    assert [reply.state.num_questions for reply in replies] == [1, 2, 3, 3]
    assert [reply.state.num_unhelpful for reply in replies] == [1, 0, 0, 1]
    assert replies[-1].state.reveal_counts == {"P1": 2}


def test_requests_are_asked_together_by_temperature_and_answered_in_order() -> None:
    model = ScriptedModel(lambda chat, seed: f"You said {chat[-1].content}")
    asked = [request(f"m{i}", llm_temperature=0.5 if i % 2 else 0.7) for i in range(5)]
    replies = LLMUser(model).reply(asked)
    texts = [reply.text for reply in replies if isinstance(reply, UserReply)]
    assert texts == [f"You said m{i}" for i in range(5)]
    assert sorted(model.calls) == [(0.5, 2), (0.7, 3)]


def test_one_failure_costs_its_own_request_alone() -> None:
    def say(chat, seed):
        return ChatFailure("down") if chat[-1].content == "b" else "Fine."

    results = LLMUser(ScriptedModel(say)).reply([request("a"), request("b"), request("c")])
    assert [isinstance(result, UserFailure) for result in results] == [False, True, False]


def test_a_persona_that_a_world_lacks_costs_the_episode_and_not_the_run() -> None:
    (result,) = saying("Fine.").reply([request("x", persona="sly")])
    assert isinstance(result, UserFailure)
    assert "no persona 'sly'" in result.reason


def test_the_personas_prose_is_in_the_prompt() -> None:
    seen = []
    model = ScriptedModel(lambda chat, seed: seen.append(chat[0].content) or "Fine.")
    user = LLMUser(model, personas={"toy": {"curt": "Says little."}})
    answer(user, request("x", persona="curt"))
    assert "Says little." in seen[0]


@pytest.mark.parametrize(
    "told",
    [
        lambda n: Answer(500),
        lambda n: Answer(401),
        lambda n: Answer(body=b"garbage"),
        lambda n: Answer(stall=True),
        lambda n: completion(""),
    ],
    ids=["errors", "refuses", "garbage", "hangs", "empty"],
)
def test_no_fault_of_an_endpoint_raises(told: Callable[[int], Answer]) -> None:
    with serve(told) as served:
        model = EndpointModel(
            served.url, "toy", deadline_s=0.5, retries=1, backoff_s=0.0, trust_env=False
        )
        results = LLMUser(model).reply([request("a"), request("b")])
    assert all(isinstance(result, UserFailure) for result in results)


def test_a_real_endpoint_plays_the_user() -> None:
    with serve(lambda n: completion('{"strategy": "confirm", "message": "Yes."}')) as served:
        model = EndpointModel(served.url, "toy", deadline_s=5.0, trust_env=False)
        replies = talk(LLMUser(model), ["Hello.", "Is that right?"])
    assert [reply.text for reply in replies] == ["Yes.", "Yes."]
    assert len({body["seed"] for body in served.requests}) == 2


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Noise keeps me up.", ("P1",)),
        ("i swim at dawn, and I work until five", ("P2", "P3")),
        ("The seat has to be an aisle one.", ("P4",)),
        ("I have no wish about the room or the seat.", ()),
        ("", ()),
    ],
)
def test_disclosed_facts_are_read_from_the_words(text: str, facts: tuple[str, ...]) -> None:
    assert disclosed_facts(text, TASK) == facts


def test_words_that_all_facts_share_give_none_away() -> None:
    facts = (
        Fact("A", "k", "a", "I like the window seat.", ()),
        Fact("B", "k", "b", "I like the front seat.", ()),
    )
    task = Task("t", "toy", "g", "o", facts)
    assert disclosed_facts("I like the window seat.", task) == ("A",)
