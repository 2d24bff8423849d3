"""What binds proposals alone: evidence, hold-out, way back, protected code, restart budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gate import rules, selftest
from gate.contract.findings import Finding, Severity
from gate.contract.ledger import Author
from gate.rules.change_set import Known, Position
from tests.gate.changes import change_set

NEW = {"user.max_reveals": 3}
ALONE = ("evidence", "holdout", "reversible", "protected", "restart_budget")


def told(
    rule: str, *, known: Known = selftest.SEEN, new: dict[str, Any] = NEW, **fields: Any
) -> list[Finding]:
    proposal = replace(selftest.GOOD, **fields)
    given = change_set(new, author=Author.META_AGENT, step=41, proposal=proposal, known=known)
    return list(rules.RULES[rule](given))


@pytest.mark.parametrize("rule", ALONE)
def test_a_saved_file_is_not_asked(rule: str) -> None:
    known = Known(protected_differences=("gate",), attempt=9, protected_recorded=False)
    assert list(rules.RULES[rule](change_set(NEW, known=known))) == []


@pytest.mark.parametrize("rule", ALONE)
def test_a_good_proposal_passes(rule: str) -> None:
    assert told(rule) == []


def test_records_on_file_are_evidence() -> None:
    known = Known(last_step=40, episodes=frozenset({"000012-05"}))
    assert told("evidence", known=known, steps=(1, 40), episodes=("000012-05",)) == []
    found = told("evidence", known=known, steps=(40, 41), episodes=("000012-05", "000012-06"))
    assert [finding.value for finding in found] == [41, "000012-06"]
    assert (found[0].limit, found[0].file) == (40, "proposals/0007.yaml")
    assert "cites no record" in told("evidence", steps=())[0].message


@pytest.mark.parametrize(
    "text",
    [
        "The share of held-out dialogues that succeed: held out success .4",
        "success on the test set fell",
        "eval_success 0.4",
        "metric: evaluation.reward",
        "hold-out: pass@1 of 0.3",
        "# Evaluation accuracy: 0.8",
        "ls runs/../trainer/worlds/travel/evaluation/",
        "~/.local/share/eau/evaluations",
        "canary Eau-Evaluation-Travel-12",
        "task SMALL-22-78be266e",
    ],
)
def test_evaluation_data_is_found_however_it_is_written(text: str) -> None:
    known = Known(last_step=40, evaluation_words=frozenset({"small-22-78be266e"}))
    assert told("holdout", known=known, text=text) != []


@pytest.mark.parametrize(
    "text",
    [
        "success fell from 0.6 to 0.4 over steps 30 to 40",
        "the user retrieval rule is too strict, so reward stays low",
        "we test settings one by one",
        "the agent held out for an answer",
        "task small-22-11111111 of training",
    ],
)
def test_talk_about_training_passes(text: str) -> None:
    known = Known(last_step=40, evaluation_words=frozenset({"small-22-78be266e"}))
    assert told("holdout", known=known, text=text) == []


def test_a_value_that_repeats_evaluation_data_is_found() -> None:
    persona = {"user.persona": "eau-evaluation-x"}
    assert [one.rule for one in told("holdout", new=persona)] == ["rules.holdout"]


def test_a_way_back_names_every_change_and_nothing_else() -> None:
    new = {**NEW, "agent.gae_lambda": 0.9}
    both = {"user.max_reveals": 2, "agent.gae_lambda": 0.95}
    assert told("reversible", new=new, way_back=both) == []
    assert [one.path for one in told("reversible", new=new, way_back={})] == list(new)
    (found,) = told("reversible", new=NEW, way_back=both)
    assert (found.path, found.next_step) == ("agent.gae_lambda", "Remove it there.")
    (found,) = told("reversible", way_back={"user.max_reveals": 3})
    assert "which is the new value" in found.message


def test_protected_folders_that_differ_are_named() -> None:
    known = Known(last_step=40, protected_differences=("gate/rules", "trainer"))
    found = told("protected", known=known)
    assert [finding.path for finding in found] == ["gate/rules", "trainer"]
    assert {finding.severity for finding in found} == {Severity.ERROR}
    (doubt,) = told("protected", known=Known(protected_recorded=False))
    assert doubt.severity is Severity.WARNING


@pytest.mark.parametrize(("attempt", "refused"), [(1, 0), (5, 0), (6, 1)])
def test_five_launches_are_allowed_and_the_sixth_is_not(attempt: int, refused: int) -> None:
    assert len(told("restart_budget", known=Known(last_step=40, attempt=attempt))) == refused


def test_a_finding_points_into_the_proposal() -> None:
    position = {"environment.max_steps": Position("proposals/0007.yaml", 3, 5)}
    given = change_set({"environment.max_steps": 17}, proposal=selftest.GOOD, positions=position)
    (found,) = rules.RULES["difficulty"](given)
    assert found.place == "proposals/0007.yaml:3:5"
