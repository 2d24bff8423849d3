"""A running trainer takes proposals up in their order, decides each once, and tells what became."""

from __future__ import annotations

import functools
import json
import time
from pathlib import Path
from typing import Any

import pytest

from gate.contract import knobs, ledger, protected, revisions
from gate.contract.findings import Severity
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, EntryKind, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Guard, KnobStatus, history, submission, taking_up
from tests import live_run, proposed

PERSONA = {"user.persona": "terse"}


@pytest.fixture(autouse=True)
def frozen_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody who edits the checkout meanwhile change nothing here."""
    digests = protected.digests()
    monkeypatch.setattr(protected, "digests", lambda root=None: digests)


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    run = live_run.launch(tmp_path / "run")
    run.proposals.mkdir()
    proposed.log_steps(run, 40)
    proposed.record_launch(run)
    return run


@pytest.fixture
def guard(run: RunPaths) -> Guard:
    return Guard.open(run, worlds=live_run.WORLDS)


def look(guard: Guard, step: int = 41, success: float = 0.5) -> KnobStatus:
    return guard.reconcile(step, success_history=[success] * 20, now=float(step))


def report(run: RunPaths, number: int) -> Any:
    return json.loads(run.report(number).read_bytes())


def rules_of(status: KnobStatus) -> list[str]:
    return [finding.rule for outcome in status.proposals for finding in outcome.findings]


def test_a_proposal_is_in_force_at_the_next_step(run: RunPaths, guard: Guard) -> None:
    look(guard, 40)
    proposed.submit(run)
    status = look(guard)
    assert status.changed == (KnobChange("user.max_reveals", 2, 3),)
    (outcome,) = status.proposals
    assert (outcome.number, outcome.revision, outcome.step) == (1, 1, 41)
    assert str(outcome) == "proposal 1 is in force (revision 1)"
    revision = ledger.revisions(run.ledger)[-1]
    assert (revision.kind, revision.author) == (RevisionKind.PROPOSAL, Author.META_AGENT)
    assert revision.reason == "users repeat themselves"
    assert revision.details["proposal"]["number"] == 1
    assert (report(run, 1)["verdict"], report(run, 1)["revision"]) == ("accepted", 1)
    assert "max_reveals: 3" in run.knob_file("user").read_text()
    for step in (42, 43, 44):
        later = look(guard, step)
        assert (later.revision, later.proposals, later.changed) == (1, (), ())
    assert knobs.load(run.knobs, worlds=live_run.WORLDS) == guard.status.knobs


def test_a_refused_proposal_is_told_once_and_never_decided_again(
    run: RunPaths, guard: Guard
) -> None:
    proposed.submit(run, changes={"environment.max_steps": 17})
    status = look(guard)
    assert (status.revision, rules_of(status)) == (0, ["rules.difficulty"])
    assert "was refused: proposals/0001.yaml:3:" in str(status.proposals[0])
    told = report(run, 1)
    assert (told["verdict"], told["revision"]) == ("refused", None)
    assert told["findings"][0]["next_step"] == "Wait, or make an easier change first."
    run.report(1).unlink()
    assert look(guard, 42, success=0.9).proposals == ()
    assert report(run, 1) == told
    again = Guard.open(run, worlds=live_run.WORLDS)
    assert look(again, 43, success=0.9).revision == 0
    kinds = [entry.kind for entry in ledger.entries(run.ledger)]
    assert kinds == [EntryKind.LAUNCH, EntryKind.REFUSED]


def test_proposals_are_taken_in_order_each_under_the_one_before(
    run: RunPaths, guard: Guard
) -> None:
    proposed.submit(run)
    proposed.submit(run, changes=PERSONA)
    proposed.submit(run, changes=PERSONA, concurrent=True)
    proposed.submit(run, changes={"user.max_reveals": 3}, concurrent=True)
    status = look(guard)
    assert [outcome.revision for outcome in status.proposals] == [1, None, 2, None]
    assert rules_of(status) == ["rules.pace", "proposal.no-change"]
    assert status.knobs.get("user.persona") == "terse"
    assert [change.path for change in status.changed] == ["user.max_reveals", "user.persona"]
    assert [name for name in run.staging.glob("*")] == []


def test_a_window_keeps_others_out_until_it_is_over(run: RunPaths, guard: Guard) -> None:
    proposed.submit(run, window=5)
    assert look(guard, 41).revision == 1
    proposed.submit(run, changes=PERSONA)
    assert rules_of(look(guard, 45)) == ["rules.pace"]
    proposed.submit(run, changes=PERSONA)
    assert look(guard, 46).revision == 2


def test_a_superseded_proposal_steps_back(run: RunPaths, guard: Guard) -> None:
    proposed.submit(run)
    proposed.submit(run, changes=PERSONA, supersedes=1)
    status = look(guard)
    assert [outcome.revision for outcome in status.proposals] == [None, 1]
    assert rules_of(status) == ["proposal.superseded"]
    assert status.knobs.get("user.persona") == "terse"


def test_a_half_saved_proposal_is_waited_for(run: RunPaths, guard: Guard) -> None:
    path = run.proposal(1)
    path.write_bytes(proposed.content()[:-10])
    for step in (41, 42):
        status = look(guard, step)
        assert [finding.rule for finding in status.waiting] == ["proposal.unfinished"]
        assert [finding.severity for finding in status.waiting] == [Severity.WARNING]
        assert (status.revision, status.proposals) == (0, ())
    path.write_bytes(proposed.content())
    status = look(guard, 43)
    assert (status.revision, status.waiting) == (1, ())


def test_a_proposal_that_cannot_be_read_is_refused(run: RunPaths, guard: Guard) -> None:
    run.proposal(1).write_bytes(proposed.content(why=None))
    run.proposal(2).mkdir()
    status = look(guard)
    assert rules_of(status) == ["proposal.missing", "proposal.unreadable"]
    assert report(run, 1)["digest"] == ""
    run.proposal(3).write_bytes(proposed.content(why=None, window=0))
    assert str(look(guard, 42).proposals[0]).endswith("(and 1 more)")


def test_changes_are_taken_from_the_candidate_if_none_are_named(
    run: RunPaths, guard: Guard
) -> None:
    folder = run.candidate / "knobs"
    folder.mkdir(parents=True)
    content = run.knob_file("user").read_bytes()
    (folder / "user.yaml").write_bytes(live_run.with_value(content, "match_threshold", 0.5))
    proposed.submit(run, changes=None)
    assert look(guard).changed == (KnobChange("user.match_threshold", 0.6, 0.5),)
    (folder / "agent.yaml").write_bytes(b"")
    proposed.submit(run, changes=None)
    assert rules_of(look(guard, 61)) == ["knobs.empty"]


def test_an_old_candidate_does_not_undo_a_newer_revision(run: RunPaths, guard: Guard) -> None:
    folder = run.candidate / "knobs"
    folder.mkdir(parents=True)
    old = run.knob_file("user").read_bytes()
    proposed.submit(run, window=1)
    assert look(guard).revision == 1
    (folder / "user.yaml").write_bytes(live_run.with_value(old, "persona", "terse"))
    proposed.submit(run, changes=None)
    status = look(guard, 61)
    assert (status.revision, rules_of(status)) == (1, ["guard.stale-buffer"])
    assert status.proposals[0].findings[0].file == "candidate/knobs/user.yaml"


def test_a_hand_edit_comes_first_and_the_proposal_is_judged_over_it(
    run: RunPaths, guard: Guard
) -> None:
    live_run.save(run, "agent.gae_lambda", 0.9)
    proposed.submit(run)
    status = look(guard)
    kinds = [revision.kind for revision in ledger.revisions(run.ledger)]
    assert kinds == [RevisionKind.LAUNCH, RevisionKind.DIRECT_EDIT, RevisionKind.PROPOSAL]
    assert {change.path for change in status.changed} == {"agent.gae_lambda", "user.max_reveals"}
    assert look(guard, 42).revision == 2


def test_proposals_wait_while_a_knob_file_holds_a_refused_edit(run: RunPaths, guard: Guard) -> None:
    before = live_run.save(run, "user.match_threshold", 7)
    proposed.submit(run)
    status = look(guard)
    assert [finding.rule for finding in status.waiting] == ["guard.waiting"]
    assert (status.revision, run.knob_file("user").read_bytes()) == (0, before)
    assert look(guard, 42).waiting == status.waiting
    run.knob_file("user").write_bytes(b"")
    assert [finding.rule for finding in look(guard, 43).waiting] == ["guard.waiting"]
    run.knob_file("user").unlink()
    assert [finding.rule for finding in look(guard, 44).refused] == ["knobs.unreadable"]
    run.knob_file("user").write_bytes(live_run.starting_files()["knobs/user.yaml"])
    assert look(guard, 45).knobs.get("user.max_reveals") == 3


def test_a_person_who_edits_within_a_window_is_warned(run: RunPaths, guard: Guard) -> None:
    proposed.submit(run)
    look(guard)
    live_run.save(run, "agent.gae_lambda", 0.9)
    status = look(guard, 42)
    assert status.knobs.get("agent.gae_lambda") == 0.9
    assert [finding.rule for finding in status.warnings] == ["rules.pace"]


def test_a_proposal_over_an_edit_of_this_very_moment_waits(
    run: RunPaths, guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposed.submit(run)
    decide = submission.decide

    def late(*args: Any, **kwargs: Any) -> None:
        live_run.save(run, "user.persona", "terse")
        decide(*args, **kwargs)

    monkeypatch.setattr(submission, "decide", late)
    status = look(guard)
    assert [finding.rule for finding in status.waiting] == ["revision.unseen_edit"]
    monkeypatch.undo()
    status = look(guard, 42)
    assert (status.revision, status.knobs.get("user.persona")) == (2, "terse")
    assert status.waiting == ()


def test_a_knob_file_that_vanishes_meanwhile_is_told(run: RunPaths) -> None:
    run.knob_file("user").unlink()
    with pytest.raises(knobs.Refused) as caught:
        submission.edited_files(run, [KnobChange("user.max_reveals", 2, 3)])
    assert caught.value.findings[0].rule == "knobs.unreadable"


def test_a_flood_of_proposals_is_decided_bit_by_bit(run: RunPaths, guard: Guard) -> None:
    for _ in range(taking_up.MOST_AT_ONCE + 2):
        proposed.submit(run, evidence={})
    assert [len(look(guard, step).proposals) for step in (41, 42, 43)] == [8, 2, 0]


def test_a_full_disk_leaves_the_proposal_for_later(run: RunPaths, guard: Guard) -> None:
    look(guard, 40)
    proposed.submit(run)
    with live_run.file_size_limit(run.ledger.stat().st_size + 10):
        status = look(guard)
    assert [finding.rule for finding in status.refused] == ["guard.disk-full"]
    status = look(guard, 42)
    assert (status.revision, status.refused) == (1, ())
    assert status.proposals[0].revision == 1


def test_a_report_that_a_crash_left_out_is_written_later(run: RunPaths, guard: Guard) -> None:
    proposed.submit(run)
    look(guard)
    told = report(run, 1)
    run.report(1).unlink()
    look(Guard.open(run, worlds=live_run.WORLDS), 42)
    assert report(run, 1) == told


def test_a_proposal_cut_short_between_two_writes_is_in_force_whole_at_the_next_look(
    run: RunPaths, guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(guard, 40)
    proposed.submit(run, changes={"user.max_reveals": 3, **PERSONA, "agent.gae_lambda": 0.9})

    class Stop(Exception):
        """Ends the transaction between its renames."""

    def stop(name: str) -> None:
        if name.startswith("renamed"):
            raise Stop(name)

    commit = revisions.commit
    interrupted = functools.partial(commit, checkpoint=stop)
    monkeypatch.setattr(revisions, "commit", interrupted)
    roll = revisions.recover
    monkeypatch.setattr(revisions, "recover", lambda *a, **k: roll(*a, **{"checkpoint": stop, **k}))
    with pytest.raises(Stop):
        look(guard)
    monkeypatch.undo()
    again = Guard.open(run, worlds=live_run.WORLDS)
    status = look(again, 42)
    assert (status.revision, len(status.changed)) == (1, 3)
    assert [outcome.revision for outcome in status.proposals] == [1]
    assert knobs.load(run.knobs, worlds=live_run.WORLDS) == status.knobs
    assert (report(run, 1)["verdict"], ledger.verify(run.ledger).ok) == ("accepted", True)
    assert look(again, 43).revision == 1


@pytest.mark.parametrize("spoil", ["link", "gone"])
def test_no_report_is_written_out_of_the_run(
    run: RunPaths, guard: Guard, tmp_path: Path, spoil: str
) -> None:
    proposed.submit(run)
    look(guard)
    for path in run.proposals.iterdir():
        path.unlink()
    run.proposals.rmdir()
    (tmp_path / "outside").mkdir()
    if spoil == "link":
        run.proposals.symlink_to(tmp_path / "outside")
    assert look(guard, 42).revision == 1
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("episode", ["000012-00", "000012-01", "000099-00"])
def test_an_episode_counts_if_its_file_holds_it(run: RunPaths, guard: Guard, episode: str) -> None:
    proposed.submit(run, evidence={"episodes": [episode]})
    expected = [] if episode == "000012-00" else ["rules.evidence"]
    assert rules_of(look(guard)) == expected


def test_a_run_without_a_launch_record_is_told_so(run: RunPaths, guard: Guard) -> None:
    run.launch.unlink()
    proposed.submit(run)
    status = look(guard)
    assert (status.revision, rules_of(status)) == (1, ["rules.protected"])
    assert [finding.rule for finding in status.warnings] == ["rules.protected"]


def test_code_that_changed_since_the_launch_refuses_every_proposal(
    run: RunPaths, guard: Guard
) -> None:
    record = run.launch.read_text()
    start = record.index("  gate/rules: ") + len("  gate/rules: ")
    run.launch.write_text(record[:start] + "0" * 64 + record[start + 64 :])
    proposed.submit(run)
    status = look(guard)
    assert rules_of(status) == ["rules.protected"]
    assert "gate/rules/" in status.proposals[0].findings[0].message


def test_what_has_not_passed_is_not_brought_into_force(run: RunPaths) -> None:
    with pytest.raises(ValueError, match="judge it first"):
        submission.bring_into_force(run, submission.Judged(1), step=1, now=1.0)


def test_looking_where_proposals_were_decided_costs_little(run: RunPaths, guard: Guard) -> None:
    look(guard, 40)

    def cost_s() -> float:
        began = time.perf_counter()
        for _ in range(50):
            look(guard, 50)
        return (time.perf_counter() - began) / 50

    assert min(cost_s() for _ in range(20)) <= 100e-6
    proposed.submit(run)
    assert look(guard).revision == 1
    look(guard, 42)
    assert min(cost_s() for _ in range(20)) <= 150e-6


def test_deciding_takes_well_under_half_a_second(run: RunPaths) -> None:
    proposed.submit(run, evidence={"steps": [40], "episodes": ["000012-00"]})
    past = history.read(run.ledger, worlds=live_run.WORLDS)
    began = time.process_time()
    judged = submission.judge(
        run, 1, past, worlds=live_run.WORLDS, step=41, success_history=[0.5] * 20
    )
    assert time.process_time() - began < 0.25
    assert judged.passed
