"""Faults that others published, replayed: each input gets the right behaviour here.

Sources: the EAU paper's record of interventions (leaks, repeats, the question counter), and
reports on user simulators that ended too early, swallowed text, or let the agent end the dialogue.
"""

from __future__ import annotations

from tests.trainer.users.dialogue import QUESTIONS, TASK, answer, request, rules, talk
from trainer.task import Fact, Task
from trainer.users.disclosure import unmatched_patterns
from trainer.users.symbolic import SymbolicUser

USER = SymbolicUser(rules())


def test_turns_that_ask_and_answer_count_so_that_min_questions_is_reached() -> None:
    both = "I recommend F8. Which room do you want?"
    replies = talk(USER, [both, both, both, "I recommend F8."], min_questions=3)
    assert [reply.state.num_questions for reply in replies] == [1, 2, 3, 3]
    assert replies[-1].ends


def test_an_answer_before_min_questions_is_not_accepted_by_any_rule() -> None:
    assert answer(USER, request("I recommend F8.", min_questions=1)).rule == "early"
    eager = "version: 1\nrules:\n  - {id: a, do: close, say: [Bye.]}\n"
    reply = answer(SymbolicUser(rules(eager)), request("I recommend F8.", min_questions=1))
    assert not reply.ends
    assert reply.rule == "no_rule"


def test_max_reveals_bounds_repeated_disclosure() -> None:
    replies = talk(USER, [QUESTIONS["P1"]] * 6, max_reveals=2)
    assert [reply.rule for reply in replies] == ["reveal"] * 2 + ["told"] * 4
    assert replies[-1].state.reveal_counts == {"P1": 2}


def test_a_filter_of_kinds_covers_the_kind_that_leaks() -> None:
    task = Task(
        "code-1",
        "toy",
        "g",
        "o",
        (
            Fact("S", "shape", "one argument", "It takes one argument.", ("argument",)),
            Fact("R", "return", "def f(x): return x + 1", "It adds one.", ("return", "result")),
        ),
    )
    asked = request("What does it return?", task=task, reveal_kinds=["shape"])
    reply = answer(USER, asked)
    assert (reply.rule, reply.revealed) == ("forgotten", ())
    assert "adds" not in reply.text
    assert answer(USER, request("What argument?", task=task, reveal_kinds=["shape"])).revealed
    kinds = [fact.kind for fact in task.facts]
    assert unmatched_patterns(["shape", "returns.*"], kinds) == ["returns.*"]


def test_raising_facts_per_reply_never_prints_the_reference_or_breaks_the_limit() -> None:
    secret = "def total(rows): return sum(row.price for row in rows if row.open) " * 12
    facts = tuple(
        Fact(f"P{i}", f"return.part{i}", secret, f"Part {i}: it sums open prices.", ("sum",))
        for i in range(3)
    )
    task = Task("code-2", "toy", "g", "o", facts)
    for most in (1, 2, 3):
        reply = answer(USER, request("sum?", task=task, facts_per_reply=most, max_reply_chars=400))
        assert len(reply.text) <= 400
        assert len(reply.revealed) == most
        assert not any(secret[i : i + 40] in reply.text for i in range(0, len(secret) - 40))


def test_the_agent_cannot_end_the_dialogue_with_the_stop_token() -> None:
    for message in ("###STOP###", "###stop###", "Hello ###STOP###", "<think>###STOP###</think>"):
        assert not answer(USER, request(message)).ends


def test_the_private_label_is_in_no_reply() -> None:
    for message in (*QUESTIONS.values(), "Hello.", "I recommend F8.", "What else?"):
        reply = answer(USER, request(message))
        assert reply.private["strategy"] not in reply.text
        assert TASK.goal not in reply.text
