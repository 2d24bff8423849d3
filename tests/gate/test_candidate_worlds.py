"""A proposal's worlds are read with care, probed beside the training, and come into force whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate import sample_world
from gate.contract import candidate_world, files, ledger, protected, world_folder
from gate.contract.findings import Refused
from gate.contract.ledger import RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Guard, Prober, applying, history, submission
from gate.guard.probing import Question, Report
from tests import live_run, proposed
from tests.gate import candidates, fake_probe
from tests.gate.candidates import WORDING, decided, edit, look, propose, rules_of
from tests.gate.test_leash import until


@pytest.fixture(autouse=True)
def frozen_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody who edits the checkout meanwhile change nothing here."""
    digests = protected.digests()
    monkeypatch.setattr(protected, "digests", lambda root=None: digests)


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return candidates.launch(tmp_path / "run")


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    return tmp_path / "fake"


@pytest.fixture
def guard(run: RunPaths, fake: Path) -> Iterator[Guard]:
    prober = Prober(run.probe, command=fake_probe.command(fake))
    guard = Guard.open(run, worlds=live_run.WORLDS, prober=prober)
    yield guard
    guard.close()


def report(run: RunPaths, number: int) -> Any:
    return json.loads(run.report(number).read_bytes())


def test_a_world_is_probed_while_the_old_one_stays_and_then_in_force_whole(
    run: RunPaths, guard: Guard, fake: Path
) -> None:
    fake_probe.act(fake, "wait")
    edit(run, "wording.py")
    propose(run)
    for step in (41, 42):
        status = look(guard, step)
        assert [finding.rule for finding in status.waiting] == ["guard.probing"]
        assert (status.revision, status.world_revision, status.proposals) == (0, 0, ())
    fake_probe.act(fake, {**fake_probe.PASSES, "measured": {"solvable": {"travel": 0}}})
    status = decided(guard, 43)
    (outcome,) = status.proposals
    assert (status.revision, status.world_revision, outcome.worlds) == (1, 1, ("travel",))
    assert outcome.probe == {"measured": {"solvable": {"travel": 0}}, "seconds": 0.5, "tasks": 32}
    assert '+OPENING = "Where to?"' in outcome.difference
    new = run.world_revision(1)
    assert (new / "travel" / "wording.py").read_text() == WORDING
    for world in live_run.WORLDS:
        kept = world_folder.read(run.world_revision(0) / world, told="old")
        edited = {"wording.py": WORDING.encode()} if world == "travel" else {}
        assert world_folder.read(new / world, told="new") == {**kept, **edited}
    revision = ledger.revisions(run.ledger)[-1]
    assert (revision.kind, revision.world, revision.step) == (RevisionKind.PROPOSAL, 1, 43)
    assert {"difference", "probe", "worlds", "proposal"} <= revision.details.keys()
    told = report(run, 1)
    assert (told["verdict"], told["worlds"], told["probe"]["tasks"]) == ("accepted", ["travel"], 32)
    assert look(guard, 44).refused == ()
    assert ledger.verify(run.ledger).ok


def test_the_probe_is_asked_about_both_sides(run: RunPaths, guard: Guard, fake: Path) -> None:
    edit(run, "wording.py")
    propose(run, changes={"user.max_reveals": 3})
    decided(guard)
    (asked,) = fake_probe.asked(fake)
    assert asked["old"]["world_root"] == str(run.world_revision(0))
    assert asked["new"]["world_root"] != asked["old"]["world_root"]
    values = [asked[side]["knobs"]["user"]["max_reveals"] for side in ("old", "new")]
    assert (values, asked["worlds"], asked["seed"]) == ([2, 3], ["intention", "travel"], 1)
    assert (asked["tasks"], asked["seconds"], asked["run"]) == (32, 10.0, str(run.root))


def test_what_a_probe_finds_refuses_with_its_numbers(
    run: RunPaths, guard: Guard, fake: Path
) -> None:
    fake_probe.act(fake, fake_probe.REFUSES)
    edit(run, "wording.py")
    propose(run)
    status = decided(guard)
    assert (status.revision, rules_of(status)) == (0, ["probe.solvable"])
    told = report(run, 1)
    assert (told["verdict"], told["probe"]["measured"]) == ("refused", {"solvable": {"travel": 2}})
    assert "Where to?" in told["difference"]
    assert not run.world_revision(1).exists()


def test_knobs_of_a_dialogue_are_probed_and_others_are_not(
    run: RunPaths, guard: Guard, fake: Path
) -> None:
    proposed.submit(run, changes={"agent.gae_lambda": 0.9})
    assert decided(guard).revision == 1
    assert fake_probe.asked(fake) == []
    proposed.submit(run, changes={"user.max_reveals": 3}, concurrent=True)
    status = decided(guard, 62)
    assert (status.revision, status.proposals[0].probe) == (
        2,
        {"measured": {}, "seconds": 0.5, "tasks": 32},
    )
    (asked,) = fake_probe.asked(fake)
    assert asked["new"]["world_root"] == asked["old"]["world_root"]


def test_those_behind_a_proposal_that_is_probed_wait_for_it(
    run: RunPaths, guard: Guard, fake: Path
) -> None:
    fake_probe.act(fake, "wait")
    edit(run, "wording.py")
    propose(run)
    proposed.submit(run, changes={"agent.gae_lambda": 0.9}, concurrent=True)
    assert look(guard).proposals == ()
    fake_probe.act(fake, fake_probe.PASSES)
    assert [one.revision for one in decided(guard, 42).proposals] == [1, 2]


def test_another_candidate_is_another_question(run: RunPaths, guard: Guard, fake: Path) -> None:
    fake_probe.act(fake, "wait")
    edit(run, "wording.py")
    propose(run)
    look(guard)
    until(lambda: len(fake_probe.asked(fake)) == 1)
    edit(run, "wording.py", 'OPENING = "Hello."\n')
    fake_probe.act(fake, fake_probe.PASSES)
    assert decided(guard, 42).revision == 1
    assert (run.world_revision(1) / "travel" / "wording.py").read_text() == 'OPENING = "Hello."\n'


def test_a_guard_that_ends_takes_its_probe_along(run: RunPaths, guard: Guard, fake: Path) -> None:
    fake_probe.act(fake, "hang")
    edit(run, "wording.py")
    propose(run)
    look(guard)
    guard.close()
    assert not run.probe.exists()
    Guard.open(run, worlds=live_run.WORLDS).close()


def test_without_a_prober_no_proposal_changes_a_world(run: RunPaths) -> None:
    edit(run, "wording.py")
    propose(run)
    proposed.submit(run)
    status = look(Guard.open(run, worlds=live_run.WORLDS))
    assert rules_of(status) == ["probe.none"]
    assert [one.revision for one in status.proposals] == [None, 1]


def test_a_later_revision_copies_the_worlds_in_force(run: RunPaths, guard: Guard) -> None:
    edit(run, "wording.py")
    propose(run, window=1)
    assert decided(guard).world_revision == 1
    edit(run, "user.yaml", sample_world.RULES + "    strategy: confirm\n", world="intention")
    propose(run, world=["intention"], window=1)
    assert decided(guard, 62).world_revision == 2
    new = run.world_revision(2)
    assert (new / "travel" / "wording.py").read_text() == WORDING
    assert "strategy" in (new / "intention" / "user.yaml").read_text()
    made = proposed.submit(run, changes=None, reverts=2)
    status = decided(guard, 83)
    assert (status.world_revision, status.revision, made) == (1, 3, 3)


def test_an_old_copy_of_a_file_does_not_undo_a_newer_revision(run: RunPaths, guard: Guard) -> None:
    edit(run, "wording.py")
    propose(run, window=1)
    decided(guard)
    edit(run, "wording.py", sample_world.FILES["wording.py"])
    propose(run)
    status = decided(guard, 62)
    assert rules_of(status) == ["candidate.old-copy"]
    assert "world/0001" in status.proposals[0].findings[0].next_step


def test_a_candidate_that_changes_nothing_is_refused(run: RunPaths, guard: Guard) -> None:
    propose(run)
    assert rules_of(decided(guard)) == ["proposal.no-change"]
    edit(run, "wording.py", sample_world.FILES["wording.py"])
    propose(run)
    assert rules_of(decided(guard, 42)) == ["proposal.no-change"]


def spoil(run: RunPaths, tmp_path: Path, how: str) -> None:
    place = edit(run, "wording.py")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "wording.py").write_text(WORDING)
    if how == "file link":
        place.unlink()
        place.symlink_to(outside / "wording.py")
    elif how == "folder link":
        place.unlink()
        place.parent.rmdir()
        place.parent.symlink_to(outside)
    elif how == "root link":
        place.unlink()
        place.parent.rmdir()
        (run.candidate / "world").rmdir()
        (run.candidate / "world").symlink_to(outside)
    elif how == "pipe":
        place.unlink()
        os.mkfifo(place)
    elif how == "size":
        place.write_bytes(b"#" * (world_folder.LARGEST + 1))
    elif how == "many":
        for number in range(world_folder.MOST + 1):
            edit(run, f"personas/p{number}.md")
    elif how == "name":
        edit(run, ".hidden")
    elif how == "deep":
        edit(run, "personas/a/b/c/d/e/f.md")
    elif how == "world":
        edit(run, "env.py", world="atlantis")
    else:
        place.unlink()
        place.parent.rmdir()
        place.parent.write_text("no folder")


@pytest.mark.parametrize(
    ("how", "rule"),
    [
        ("file link", "world.unreadable"),
        ("folder link", "candidate.link"),
        ("root link", "candidate.link"),
        ("pipe", "world.unreadable"),
        ("size", "world.size"),
        ("many", "world.many"),
        ("name", "world.name"),
        ("deep", "world.deep"),
        ("world", "candidate.unknown"),
        ("no folder", "candidate.missing"),
    ],
)
def test_whatever_lies_in_a_files_place_is_refused_at_once(
    run: RunPaths, guard: Guard, tmp_path: Path, how: str, rule: str
) -> None:
    spoil(run, tmp_path, how)
    propose(run)
    status = look(guard)
    assert set(rules_of(status)) == {rule}
    assert status.proposals[0].findings[0].next_step


def test_a_world_that_is_named_must_be_there(run: RunPaths, guard: Guard) -> None:
    propose(run, world=["travel"])
    assert rules_of(look(guard)) == ["candidate.missing"]
    edit(run, "__pycache__/wording.pyc", b"\x00")
    propose(run, world=["travel"])
    assert rules_of(look(guard, 42)) == ["proposal.no-change"]


def test_static_rules_refuse_before_anything_is_probed(
    run: RunPaths, guard: Guard, fake: Path
) -> None:
    edit(run, "env.py", "import os\n")
    edit(run, "oracle.py", "")
    propose(run)
    assert rules_of(look(guard)) == ["rules.world-files", "rules.world-imports"]
    assert fake_probe.asked(fake) == []


def test_a_verifier_is_mended_where_it_was_seen_to_be_wrong(
    run: RunPaths, guard: Guard, fake: Path
) -> None:
    for step, success in ((7, 0.0), (8, 1.0)):
        record = {"id": f"{step:06d}-01", "world": "travel", "success": success}
        files.append_line(run.episodes_of(step), record)
    edit(run, "verifier.py", "import math\n\nmake = math.ceil\n")
    cited = [{"episode": "000007-01", "should_be": 1.0}]
    propose(run, false_verdicts=[{"episode": "000008-01", "should_be": 1.0}])
    propose(run, false_verdicts=[{"episode": "000009-01", "should_be": 1.0}])
    propose(run, false_verdicts=cited)
    status = decided(guard)
    assert [one.revision for one in status.proposals] == [None, None, 1]
    assert set(rules_of(status)) == {"rules.false-verdicts"}
    (asked,) = fake_probe.asked(fake)
    assert asked["false_verdicts"] == cited


def test_a_verdict_that_failed_or_a_record_that_is_cut_is_read_as_that(
    run: RunPaths, guard: Guard
) -> None:
    record = {"id": "000007-01", "world": "travel", "success": None}
    files.append_line(run.episodes_of(7), record)
    with run.episodes_of(8).open("ab") as file:
        file.write(b'{"id":"000008-01","world":"tra')
    edit(run, "verifier.py", "import math\n\nmake = math.ceil\n")
    propose(run, false_verdicts=[{"episode": "000008-01", "should_be": 1.0}])
    propose(run, false_verdicts=[{"episode": "000007-01", "should_be": 1.0}])
    assert [one.revision for one in decided(guard).proposals] == [None, 1]


def test_an_empty_rule_file_is_replaced_by_a_written_one(
    run: RunPaths, guard: Guard, fake: Path
) -> None:
    for world in live_run.WORLDS:
        (run.world / "0000" / world / "user.yaml").write_bytes(b"version: 1\nrules: []\n")
    launched = world_folder.folder_digest(run.world / "0000")
    lines = run.launch.read_text().splitlines()
    kept = [f'  world/0000: "{launched}"' if "world/0000" in one else one for one in lines]
    run.launch.write_text("\n".join(kept) + "\n")
    edit(run, "user.yaml", sample_world.RULES)
    propose(run)
    assert decided(guard).world_revision == 1
    assert (run.world_revision(1) / "travel/user.yaml").read_text() == sample_world.RULES
    (asked,) = fake_probe.asked(fake)
    assert asked["worlds"] == ["travel"]


def test_a_new_knob_of_a_world_comes_with_its_declaration(run: RunPaths, guard: Guard) -> None:
    moved = sample_world.DECLARATION.replace("default: 4", "default: 3")
    edit(run, "world.yaml", moved)
    propose(run)
    assert rules_of(decided(guard)) == ["rules.difficulty"]
    edit(run, "world.yaml", sample_world.DECLARATION.replace("default: 4", "default: 5"))
    propose(run)
    assert decided(guard, 42).world_revision == 1


def test_of_a_long_difference_the_beginning_is_kept() -> None:
    text = "\n".join(f"x{number} = {number}" for number in range(20_000))
    kept = candidate_world.difference([sample_world.edited("wording.py", text)])
    assert len(kept) < candidate_world.LONGEST_DIFF + 100
    assert kept.endswith("more characters")


def test_what_was_not_probed_is_not_brought_into_force(run: RunPaths) -> None:
    edit(run, "wording.py")
    propose(run)
    proposed.submit(run, changes=None, patch=True)
    past = history.read(run.ledger, worlds=live_run.WORLDS)
    for number, what in ((1, "probe it first"), (2, "try it first")):
        judged = submission.judge(
            run, number, past, worlds=live_run.WORLDS, step=41, success_history=[]
        )
        with pytest.raises(ValueError, match=what):
            submission.bring_into_force(run, judged, step=41, now=1.0)


def apply(run: RunPaths, number: int, prober: Prober | None) -> int:
    made, _ = applying.apply(
        run, number, worlds=live_run.WORLDS, now=1.0, timeout_s=1.0, prober=prober
    )
    return made.number


def test_a_person_applies_what_was_probed_and_nothing_else(run: RunPaths, fake: Path) -> None:
    edit(run, "wording.py")
    propose(run, concurrent=True)
    proposed.submit(run, concurrent=True)
    with pytest.raises(Refused, match="nothing probes it here"):
        apply(run, 1, None)
    assert apply(run, 2, None) == 1

    class Meddling(Prober):
        """A prober beside which somebody edits the candidate."""

        def wait(self, question: Question) -> Report:
            found = super().wait(question)
            edit(run, "wording.py", "x = 1\n")
            return found

    command = fake_probe.command(fake)
    with pytest.raises(Refused, match="changed while it was probed"):
        apply(run, 1, Meddling(run.probe, command=command))
    assert apply(run, 1, Prober(run.probe, command=command)) == 2
    assert (run.world_revision(2) / "travel" / "wording.py").read_text() == "x = 1\n"
