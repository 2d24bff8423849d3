"""A proposal is read whole or refused whole, and two submissions never share a number."""

from __future__ import annotations

import json
import os
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gate.contract import files, proposal_reading, proposals
from gate.contract.findings import Finding, Refused
from gate.contract.paths import RunPaths
from gate.contract.proposal_reading import Unfinished
from gate.contract.proposals import Direction, Expected, FalseVerdict
from tests import live_run, proposed


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return RunPaths(tmp_path)


def read(content: bytes) -> proposals.Proposal:
    return proposal_reading.read(7, content, worlds=live_run.WORLDS)


def refusal(content: bytes) -> tuple[Finding, ...]:
    with pytest.raises(Refused) as caught:
        read(content)
    assert not isinstance(caught.value, Unfinished)
    assert all(finding.file == "proposals/0007.yaml" for finding in caught.value.findings)
    assert all(finding.rule.startswith("proposal.") for finding in caught.value.findings)
    assert all(finding.next_step for finding in caught.value.findings)
    return caught.value.findings


def test_a_whole_proposal_is_typed() -> None:
    written = proposed.content(
        evidence={"steps": [12, 13], "episodes": ["000012-05"]},
        changes={"user.worlds.travel.max_reveals": 3, "agent.actor_lr": 2},
        concurrent=True,
        way_back={"agent.actor_lr": 1},
        supersedes=3,
    ).replace(b'"agent.actor_lr": 2', b'"agent.actor_lr": 2e-6')
    found = read(written.replace(b'"agent.actor_lr": 1}', b'"agent.actor_lr": 1e-6}'))
    assert (found.number, found.why, found.author) == (7, "users repeat themselves", "operator")
    assert found.expected == Expected("success", Direction.UP, 0.05)
    assert found.changes == {"user.worlds.travel.max_reveals": 3, "agent.actor_lr": 2e-6}
    assert (found.steps, found.episodes) == ((12, 13), ("000012-05",))
    assert (found.window, found.concurrent, found.supersedes) == (20, True, 3)
    assert found.way_back == {"agent.actor_lr": 1e-6}
    assert found.positions["agent.actor_lr"].line == 3
    kept = found.to_json()
    assert (kept["way_back"], kept["supersedes"]) == ({"agent.actor_lr": 1e-6}, 3)
    assert json.loads(json.dumps(kept)) == kept


def test_what_may_be_left_out_has_a_default() -> None:
    found = read(proposed.content(changes=None, evidence={}))
    assert (found.changes, found.way_back, found.concurrent) == (None, None, False)
    assert (found.steps, found.episodes, found.supersedes) == ((), (), None)
    assert "way_back" not in found.to_json()


def test_a_proposal_may_take_up_worlds_and_cite_false_verdicts() -> None:
    false = [{"episode": "000012-05", "should_be": 1}]
    found = read(proposed.content(changes=None, world=True, false_verdicts=false))
    assert (found.worlds, found.patch) == ((), False)
    assert read(proposed.content(changes=None, patch=True)).patch
    assert found.false_verdicts == (FalseVerdict("000012-05", 1.0),)
    assert found.to_json()["false_verdicts"] == false
    assert read(proposed.content(world=["travel"])).worlds == ("travel",)
    assert [read(proposed.content(world=none)).worlds for none in (False, [])] == [None, None]


def test_the_text_of_a_proposal_holds_comments_and_what_quotes_hide() -> None:
    found = read(b"# a remark\n" + proposed.content().replace(b"operator", b"oper\\u0061tor"))
    assert "a remark" in found.text
    assert found.author == "operator"
    assert "operator" in found.text


@pytest.mark.parametrize(
    ("fields", "rule", "path"),
    [
        ({"why": None}, "proposal.missing", "proposal.why"),
        ({"why": ""}, "proposal.length", "proposal.why"),
        ({"evidence": [12]}, "proposal.type", "proposal.evidence"),
        ({"evidence": {"steps": [0]}}, "proposal.range", "proposal.evidence.steps.0"),
        ({"evidence": {"episodes": ["12"]}}, "proposal.pattern", "proposal.evidence.episodes.0"),
        ({"evidence": {"steps": [1] * 21}}, "proposal.length", "proposal.evidence.steps"),
        ({"changes": {}}, "proposal.length", None),
        ({"changes": [1]}, "proposal.type", "proposal.changes"),
        ({"changes": {"user.max_reveal": 3}}, "proposal.knob", "user.max_reveal"),
        ({"changes": {"max_reveals": 3}}, "proposal.knob", "max_reveals"),
        ({"changes": {"quux": 3}}, "proposal.knob", "quux"),
        ({"changes": {"user.worlds.mars.max_reveals": 3}}, "proposal.knob", None),
        ({"changes": {"user.max_reveals": "many"}}, "proposal.type", "user.max_reveals"),
        ({"changes": {"environment.max_steps": 61}}, "proposal.range", "environment.max_steps"),
        ({"changes": {f"user.k{n}": 1 for n in range(21)}}, "proposal.length", None),
        ({"way_back": {"user.max_reveals": -1}}, "proposal.range", "user.max_reveals"),
        ({"expected": {"metric": "m", "direction": "on", "size": 1}}, "proposal.choice", None),
        ({"expected": {"metric": "m", "direction": "up"}}, "proposal.missing", None),
        ({"window": 0}, "proposal.range", "proposal.window"),
        ({"window": True}, "proposal.type", "proposal.window"),
        ({"supersedes": 7}, "proposal.supersedes", None),
        ({"max_reveals": 3}, "proposal.unknown", "proposal.max_reveals"),
    ],
)
def test_every_fault_is_refused_by_name(
    fields: dict[str, Any], rule: str, path: str | None
) -> None:
    first = refusal(proposed.content(**fields))[0]
    assert first.rule == rule
    assert path is None or first.path == path


def test_a_refusal_has_the_place_of_the_value_and_says_what_to_do() -> None:
    (found,) = refusal(proposed.content(changes={"max_reveals": 3}))
    assert (found.line, found.column) == (3, 11)
    assert found.next_step == "Did you mean user.max_reveals?"
    (found,) = refusal(proposed.content(max_reveals=3))
    assert found.next_step == "Write it under changes, as `user.max_reveals: 3`."
    (found,) = refusal(proposed.content(evidence=[12]))
    assert "000012-05 under episodes" in found.next_step
    found = refusal(proposed.content(why=None))[0]
    assert found.message == "proposals/0007.yaml lacks why."


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"why:\tx\n", "proposal.character"),
        (b"why: [\n", "proposal.syntax"),
        (b"why: &a x\n", "proposal.syntax"),
        (b"- a list\n", "proposal.syntax"),
        (b"", "proposal.syntax"),
        (b"why: \x07\n", "proposal.character"),
        (b"why: \xff\n", "proposal.encoding"),
        (b"why: a\nwhy: b\n", "proposal.missing"),
        (b"#" * proposals.LARGEST, "proposal.size"),
    ],
)
def test_what_cannot_be_read_is_refused(content: bytes, rule: str) -> None:
    found = refusal(content + b"# end of proposal\n")
    assert found[0].rule == rule
    assert not any("knob file" in finding.message for finding in found)


def test_a_name_that_stands_twice_is_refused() -> None:
    found = refusal(b"why: again\n" + proposed.content())
    assert [finding.rule for finding in found] == ["proposal.duplicate"]


@pytest.mark.parametrize("cut", [0, 1, 30, -2])
def test_a_proposal_that_is_cut_does_not_count_yet(cut: int) -> None:
    with pytest.raises(Unfinished) as caught:
        read(proposed.content()[:cut])
    assert caught.value.findings[0].rule == "proposal.unfinished"
    with pytest.raises(Unfinished):
        read(b"# end of proposal\n" + proposed.content())


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    jsonschema.Draft202012Validator.check_schema(proposals.schema())
    jsonschema.validate(proposed.ABOUT, proposals.schema())
    for missing in proposals.schema()["required"]:
        rest = {key: value for key, value in proposed.ABOUT.items() if key != missing}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(rest, proposals.schema())


def test_numbers_count_up_past_reports_and_patches(run: RunPaths) -> None:
    assert proposed.submit(run) == 1
    assert proposed.submit(run) == 2
    run.report(4).write_text("{}")
    (run.proposals / "0006.patch").write_text("")
    (run.proposals / "notes.md").write_text("")
    (run.proposals / "0000.yaml").write_text("")
    assert proposed.submit(run) == 7
    assert proposals.numbers(proposals.names(run)) == (1, 2, 7)
    assert proposal_reading.load(run, 7, worlds=()).number == 7


def test_submissions_at_once_get_numbers_of_their_own(run: RunPaths) -> None:
    run.proposals.mkdir()
    taken = run.proposal(1)

    def race(_: int) -> int:
        return proposals.submit(RunPaths(run.root), proposed.content())

    # Threads share a process id, and so the draft's name: one after the other here.
    with ThreadPoolExecutor(1) as pool:
        assert sorted(pool.map(race, range(3))) == [1, 2, 3]
    assert taken.read_bytes() == proposed.content()
    assert [name for name in os.listdir(run.proposals) if name.startswith(".")] == []


def test_a_number_taken_this_moment_is_passed_over(
    run: RunPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposed.submit(run)
    monkeypatch.setattr(proposals, "next_number", lambda _: 1)
    assert proposed.submit(run) == 2
    monkeypatch.setattr(proposals, "next_number", lambda _: proposals.MOST + 1)
    with pytest.raises(ValueError, match="start a new run"):
        proposed.submit(run)


def test_no_folder_of_its_own_holds_no_proposal(run: RunPaths, tmp_path: Path) -> None:
    assert proposals.names(run) == []
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "0001.yaml").write_bytes(proposed.content())
    run.proposals.symlink_to(elsewhere)
    assert proposals.names(run) == []


@pytest.mark.parametrize("spoil", ["link", "pipe", "directory", "gone", "outside"])
def test_something_else_in_a_proposals_place_is_refused_at_once(
    run: RunPaths, tmp_path_factory: pytest.TempPathFactory, spoil: str
) -> None:
    run.proposals.mkdir()
    path = run.proposal(1)
    if spoil == "link":
        (run.root / "secret").write_bytes(proposed.content())
        path.symlink_to(run.root / "secret")
    elif spoil == "pipe":
        os.mkfifo(path)
    elif spoil == "directory":
        path.mkdir()
    elif spoil == "outside":
        run.proposals.rmdir()
        run.proposals.symlink_to(tmp_path_factory.mktemp("outside"))
    with pytest.raises(Refused) as caught:
        proposal_reading.load(run, 1, worlds=())
    assert caught.value.findings[0].rule == "proposal.unreadable"


def test_a_plain_file_is_read_up_to_one_byte_more_than_asked(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    assert files.read_plain(path, most=10) == b"abcdef"
    assert files.read_plain(path, most=3) == b"abcd"


def test_the_proposal_on_the_page_is_one(checkout: Path) -> None:
    page = (checkout / "docs" / "gate.md").read_text("utf-8")
    example = page[page.index("    why:") : page.index(proposals.END) + len(proposals.END)]
    found = read(textwrap.dedent(example).encode())
    assert (found.steps, found.episodes) == ((41, 42), ("000042-05",))
    assert found.changes == {"user.max_reveals": 3}
