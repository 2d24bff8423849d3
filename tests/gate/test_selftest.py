"""A rule that was switched off is found before anything passes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from gate import cli, document, rules, selftest
from gate.contract.findings import Severity
from gate.contract.ledger import Author
from gate.selftest import KNOWN_BAD, KnownBad, Result
from tests.gate.changes import change_set


def test_every_rule_has_a_known_bad_input_and_a_declaration() -> None:
    assert {bad.rule for bad in KNOWN_BAD} == set(rules.RULES) == set(rules.DECLARATIONS)


@pytest.mark.parametrize("bad", KNOWN_BAD, ids=lambda bad: f"{bad.rule} {bad.what}")
def test_every_known_bad_input_is_refused_by_its_rule(bad: KnownBad) -> None:
    found = list(rules.RULES[bad.rule](bad.change_set()))
    assert any(finding.severity is Severity.ERROR for finding in found)
    assert {finding.rule for finding in found} == {f"rules.{bad.rule.replace('_', '-')}"}
    assert all(finding.next_step.endswith(".") for finding in found)


def test_a_good_proposal_passes_every_rule() -> None:
    given = change_set(
        {"user.max_reveals": 3},
        author=Author.META_AGENT,
        step=41,
        proposal=selftest.GOOD,
        known=selftest.SEEN,
    )
    assert rules.check(given) == ()


def test_a_rule_that_lets_pass_or_is_not_tried_is_told() -> None:
    harmless = KnownBad("difficulty", "nothing harder")
    results = selftest.run([harmless])
    found = selftest.findings(results)
    assert found[0].path == "difficulty"
    assert len(found) == len(rules.RULES)
    assert "Restore gate/rules/difficulty.py" in found[0].next_step


def test_the_command_tells_each_rule_and_fails_for_a_silent_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = CliRunner().invoke(cli.app, ["check", "--self-test"])
    assert (found.exit_code, found.stdout.count("passed  ")) == (0, len(KNOWN_BAD))
    found = CliRunner().invoke(cli.app, ["check", "--self-test", "--json"])
    assert json.loads(found.stdout)["passed"] is True
    monkeypatch.setattr(selftest, "run", lambda: (Result("pace", "haste", ()),))
    found = CliRunner().invoke(cli.app, ["check", "--self-test"])
    assert (found.exit_code, "pace LETS PASS haste" in found.stdout) == (1, True)
    assert CliRunner().invoke(cli.app, ["check", "knobs"]).exit_code == 1


def test_the_page_tells_every_rule_with_a_message() -> None:
    page = document.markdown()
    for name, declared in rules.DECLARATIONS.items():
        assert f"| `{name}` | {declared.sentence} |" in page
        assert f"`{name}` refuses " in page
