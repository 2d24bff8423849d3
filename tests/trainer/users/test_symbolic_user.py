"""Whatever the rules, the bounds of the knobs hold for every reply and over every dialogue."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.users.dialogue import QUESTIONS, RULES_TEXT, TASK, answer, request, rules, talk
from trainer.episode import Voice
from trainer.task import Fact, Task
from trainer.users.seam import UserState
from trainer.users.symbolic import NO_RULE, NO_RULE_TEXT, TOO_LONG, SymbolicUser

USER = SymbolicUser(rules())
ALL_AT_ONCE = "Which room, which area, what time and which seat?"
MESSAGES = st.lists(
    st.sampled_from(
        [*QUESTIONS.values(), ALL_AT_ONCE, "Hello.", "I recommend F8.", "[search] x", ""]
    )
    | st.text(max_size=40),
    max_size=12,
)
KNOBS = st.fixed_dictionaries(
    {
        "facts_per_reply": st.integers(1, 3),
        "match_threshold": st.floats(0, 1),
        "max_reveals": st.integers(1, 5),
        "min_questions": st.integers(0, 20),
        "volunteer_after": st.none() | st.integers(0, 20),
        "max_reply_chars": st.integers(1, 120),
        "reveal_kinds": st.sampled_from([["*"], ["hotel.*"], ["flight.seat"], ["nothing"]]),
    }
)


@given(MESSAGES, KNOBS, st.integers(0, 2**63 - 1))
def test_the_bounds_hold_over_any_dialogue(
    messages: list[str], knobs: dict[str, Any], seed: int
) -> None:
    told: Counter[str] = Counter()
    for reply in talk(USER, messages, seed=seed, **knobs):
        assert 0 < len(reply.text) <= knobs["max_reply_chars"]
        assert len(reply.revealed) <= knobs["facts_per_reply"]
        assert len(set(reply.revealed)) == len(reply.revealed)
        told.update(reply.revealed)
        assert dict(reply.state.reveal_counts) == dict(told)
        # A fact is told whole, and what is not told does not show.
        for fact in TASK.facts:
            assert (fact.statement in reply.text) == (fact.id in reply.revealed)
            assert fact.text not in reply.text
    assert all(count <= knobs["max_reveals"] for count in told.values())


@given(MESSAGES, KNOBS, st.integers(0, 2**63 - 1))
def test_the_same_conversation_and_seed_give_the_same_replies(
    messages: list[str], knobs: dict[str, Any], seed: int
) -> None:
    fresh = SymbolicUser(rules())
    assert talk(USER, messages, seed=seed, **knobs) == talk(fresh, messages, seed=seed, **knobs)


@pytest.mark.parametrize(("fact_id", "question"), QUESTIONS.items())
def test_a_specific_question_reveals_its_fact(fact_id: str, question: str) -> None:
    reply = answer(USER, request(question))
    assert reply.revealed == (fact_id,)
    assert reply.rule == "reveal"
    assert reply.voice is Voice.SYMBOLIC
    assert reply.private["strategy"] == "reveal_piece"


def test_the_first_rule_that_holds_answers() -> None:
    said = {
        "What do you think?": "unclear",
        "I recommend F8.": "close",
        "Hello.": "nudge",
        "[search] room": "nudge",
    }
    assert {message: answer(USER, request(message)).rule for message in said} == said


def test_a_message_that_asks_for_several_facts_is_told_as_many_as_the_knob_allows() -> None:
    for most in (1, 2, 3):
        reply = answer(USER, request(ALL_AT_ONCE, facts_per_reply=most))
        assert len(reply.revealed) == most


def test_what_was_not_told_yet_comes_first() -> None:
    replies = talk(USER, [ALL_AT_ONCE] * 4)
    assert sorted(reply.revealed[0] for reply in replies) == ["P1", "P2", "P3", "P4"]


def test_a_fact_that_does_not_fit_is_left_out_whole() -> None:
    long = Fact("P9", "hotel.pool", "a pool", "Long. " * 20, ("pool",))
    task = Task("toy-2", "toy", "g", "o", (long, TASK.facts[0]))
    reply = answer(USER, request("Which pool and room?", task=task, max_reply_chars=40))
    assert reply.revealed == ("P1",)
    assert "Long" not in reply.text


def test_a_reply_for_which_nothing_fits_says_so() -> None:
    reply = answer(USER, request(QUESTIONS["P1"], max_reply_chars=10))
    assert (reply.text, reply.rule, reply.revealed) == ("Too long.", TOO_LONG, ())
    assert reply.private["strategy"] == "be_vague"


@pytest.mark.parametrize("text", ["", "version: 1\nrules: []\n"])
def test_without_a_rule_that_holds_the_reply_says_so(text: str) -> None:
    reply = answer(SymbolicUser(rules(text)), request(QUESTIONS["P1"]))
    assert (reply.rule, reply.text, reply.revealed) == (NO_RULE, NO_RULE_TEXT, ())
    assert reply.private["strategy"] == "invalid"
    assert not reply.ends


def test_withdrawn_facts_are_neither_told_nor_offered() -> None:
    state = UserState(withdrawn=frozenset({"P1", "P2", "P3"}))
    assert answer(USER, request(QUESTIONS["P1"], state=state)).rule == "gone"
    offered = answer(USER, request("Hello.", state=state, volunteer_after=1))
    assert offered.revealed == ("P4",)


def test_only_the_user_ends_the_conversation() -> None:
    assert not answer(USER, request("###STOP###")).ends
    assert not answer(USER, request("Which room? ###STOP###")).ends
    assert answer(USER, request("I recommend F8.")).ends


def test_the_user_does_not_leave_while_the_agent_is_about_to_act() -> None:
    reply = answer(USER, request("I recommend F8 and I will book it now."))
    assert reply.rule == "nudge"
    assert not reply.ends


def test_a_fact_is_offered_after_exactly_so_many_unhelpful_messages() -> None:
    replies = talk(USER, ["Hello."] * 7, volunteer_after=3)
    offered = [reply.rule == "volunteer" for reply in replies]
    assert offered == [False, False, True, False, False, True, False]
    assert all(len(reply.revealed) == 1 for reply in replies if reply.rule == "volunteer")


def test_a_helpful_question_is_answered_and_sets_the_count_back() -> None:
    replies = talk(
        USER, ["Hello.", "Hello.", QUESTIONS["P1"], "Hello.", "Hello."], volunteer_after=3
    )
    assert [reply.state.num_unhelpful for reply in replies] == [1, 2, 0, 1, 2]


def test_nothing_is_offered_where_the_knob_is_off_or_nothing_is_left() -> None:
    assert all(not reply.revealed for reply in talk(USER, ["Hello."] * 30))
    replies = talk(USER, ["Hello."] * 30, volunteer_after=1, max_reveals=1)
    assert [bool(reply.revealed) for reply in replies] == [True] * 4 + [False] * 26


def test_the_words_vary_and_every_variant_comes_up() -> None:
    texts = {answer(USER, request("Hello.", seed=seed)).text for seed in range(20)}
    assert texts == {"Please ask me something.", "What do you want to know?"}


def test_a_rule_may_ask_for_words_kinds_and_counts() -> None:
    engine = SymbolicUser(
        rules(
            "version: 1\nrules:\n"
            "  - {id: hot, when: {kind: [hotel.*], act: [ask]}, do: forget, say: ['No {kind}.']}\n"
            "  - {id: hey, when: {says: [Hello], replies: {below: 1}}, do: smalltalk, say: [Hi.]}\n"
            "  - {id: left, when: {remaining: {at_least: 4}}, do: nudge, say: [Ask.]}\n"
        )
    )
    assert answer(engine, request(QUESTIONS["P1"])).text == "No hotel room."
    assert answer(engine, request("oh, hello!")).rule == "hey"
    later = UserState(num_replies=1)
    assert answer(engine, request("hello", state=later)).rule == "left"
    told = UserState(num_replies=1, reveal_counts={"P1": 1})
    assert answer(engine, request("hello", state=told)).rule == NO_RULE


def test_a_limit_that_is_off_never_holds() -> None:
    engine = SymbolicUser(
        rules(
            "version: 1\nrules:\n  - {id: a, when: {unhelpful: {at_least: volunteer_after}}, "
            "do: nudge, say: [Ask.]}\n"
        )
    )
    state = UserState(num_unhelpful=5)
    assert answer(engine, request("x", state=state)).rule == NO_RULE
    assert answer(engine, request("x", state=state, volunteer_after=5)).rule == "a"


def test_a_world_without_rules_and_a_missing_setting_are_faults_of_the_program() -> None:
    with pytest.raises(ValueError, match="no user rules for world 'toy'"):
        SymbolicUser({}).reply([request("x")])
    asked = request("x")
    settings = {name: value for name, value in asked.settings.items() if name != "max_reveals"}
    with pytest.raises(ValueError, match="lack max_reveals"):
        USER.reply([type(asked)(TASK, (), "x", UserState(), settings, 1)])


def test_rules_that_always_tell_still_keep_every_bound() -> None:
    greedy = RULES_TEXT.replace("act: [ask, both], match: [open]", "score: {at_least: 0}")
    replies = talk(SymbolicUser(rules(greedy)), ["room seat time area"] * 12, facts_per_reply=3)
    told = Counter(fact for reply in replies for fact in reply.revealed)
    assert max(len(reply.revealed) for reply in replies) == 3
    assert set(told.values()) == {2}
