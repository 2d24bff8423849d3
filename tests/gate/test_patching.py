"""A patch is tried in a scratch copy with its tests; the checkout changes only when asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gate import cli
from gate.contract import ledger, proposals, protected
from gate.contract.paths import RunPaths
from gate.guard import Guard, patching
from tests import live_run, proposed

TESTS = (sys.executable, "-c", "from trainer import answer; assert answer.VALUE > 0; print('ok')")

PATHS = {
    "trainer/__init__.py": "",
    "trainer/answer.py": "VALUE = 1\n",
    "trainer/probe/run.py": "x = 1\n",
    "trainer/worlds/travel/oracle.py": "x = 1\n",
    "gate/rules/pace.py": "x = 1\n",
    "tests/test_answer.py": "x = 1\n",
}


def git(place: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=place, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a small checkout that the patches are of."""
    root = tmp_path / "checkout"
    for path, text in PATHS.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    git(tmp_path, "init", "-q", "checkout")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "all")
    monkeypatch.setattr(patching, "CHECKOUT", root)
    monkeypatch.setattr(patching, "TESTS", TESTS)
    return root


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunPaths:
    digests = protected.digests()
    monkeypatch.setattr(protected, "digests", lambda root=None: digests)
    run = live_run.launch(tmp_path / "run")
    run.proposals.mkdir()
    proposed.log_steps(run, 5)
    proposed.record_launch(run)
    return run


def patch(run: RunPaths, checkout: Path, path: str, text: str | None, number: int = 1) -> None:
    """Write the patch that brings one file, and leave the checkout as it was."""
    place = checkout / path
    place.parent.mkdir(parents=True, exist_ok=True)
    if text is None:
        place.unlink()
    else:
        place.write_text(text)
    git(checkout, "add", "-A")
    run.patch(number).write_text(git(checkout, "diff", "--cached", "HEAD"))
    git(checkout, "reset", "-q", "--hard", "HEAD")


def messages(run: RunPaths) -> str:
    return "\n".join(str(finding) for finding in patching.attempt(run, 1).findings)


def test_a_patch_that_passes_its_tests_leaves_the_checkout_as_it_was(
    run: RunPaths, checkout: Path
) -> None:
    patch(run, checkout, "trainer/answer.py", "VALUE = 2\n")
    tried = patching.attempt(run, 1)
    assert (tried.passed, tried.files, tried.told) == (True, ("trainer/answer.py",), "ok")
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "worktree", "list").count("\n") == 1
    assert (checkout / "trainer/answer.py").read_text() == "VALUE = 1\n"


def test_a_patch_that_fails_its_tests_is_refused_with_their_last_line(
    run: RunPaths, checkout: Path
) -> None:
    patch(run, checkout, "trainer/answer.py", "VALUE = 0\n")
    assert "the tests fail: status 1 (AssertionError)" in messages(run)


def test_tests_that_hang_are_ended(run: RunPaths, checkout: Path) -> None:
    patch(run, checkout, "trainer/answer.py", "VALUE = 2\n")
    hang = (sys.executable, "-c", "import time; time.sleep(60)")
    (found,) = patching.attempt(run, 1, tests=hang, seconds=1.0).findings
    assert "took longer than 1 s (it said nothing)" in found.message


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("tests/test_answer.py", "x = 2\n", "a test that is there stays"),
        ("tests/test_answer.py", None, "a test that is there stays"),
        ("gate/rules/pace.py", "x = 2\n", "only trainer/, docs/ and new tests"),
        ("trainer/probe/run.py", "x = 2\n", "only trainer/, docs/ and new tests"),
        ("trainer/worlds/travel/oracle.py", "x = 2\n", "it says what is solved"),
    ],
)
def test_what_judges_and_what_measures_is_never_patched(
    run: RunPaths, checkout: Path, path: str, text: str | None, why: str
) -> None:
    patch(run, checkout, path, text)
    assert why in messages(run)


def test_a_new_test_and_a_page_may_come_along(run: RunPaths, checkout: Path) -> None:
    patch(run, checkout, "tests/test_new.py", "x = 1\n")
    assert messages(run) == ""
    patch(run, checkout, "docs/page.md", "A page.\n")
    assert messages(run) == ""


def test_a_link_is_no_plain_file(run: RunPaths, checkout: Path) -> None:
    (checkout / "trainer" / "link.py").symlink_to("/etc/hostname")
    patch(run, checkout, "trainer/answer.py", "VALUE = 1\n")
    assert "it is no plain file" in messages(run)


def test_what_is_no_patch_is_refused(run: RunPaths, checkout: Path) -> None:
    assert "cannot be read: No such file" in messages(run)
    run.patch(1).write_text("hello\n")
    assert "does not apply" in messages(run)
    run.patch(1).write_bytes(b"x" * (patching.LARGEST + 1))
    assert "has more than" in messages(run)


def test_a_folder_without_git_gives_no_scratch_copy(run: RunPaths, tmp_path: Path) -> None:
    run.patch(1).write_text("hello\n")
    with pytest.raises(RuntimeError, match="a patch needs a git checkout"):
        patching.attempt(run, 1, checkout=tmp_path)


def gate(*arguments: str) -> tuple[int, dict]:
    told = CliRunner().invoke(cli.app, [*arguments, "--json"])
    return told.exit_code, json.loads(told.stdout)


def test_a_proposal_about_a_patch_waits_until_a_person_applies_it(
    run: RunPaths, checkout: Path
) -> None:
    patch(run, checkout, "trainer/answer.py", "VALUE = 2\n")
    number = proposals.submit(run, proposed.content(changes=None, patch=True))
    assert number == 2
    run.patch(1).rename(run.patch(2))
    guard = Guard.open(run, worlds=live_run.WORLDS)
    for step in (6, 7):
        status = guard.reconcile(step, success_history=[0.5] * 5, now=1.0)
        assert [finding.rule for finding in status.waiting] == ["guard.patch"]
    status, found = gate("check", str(run.root), "--patch", "2")
    assert (status, found["passed"], found["probe"]["files"]) == (0, True, ["trainer/answer.py"])
    status, found = gate("apply", str(run.root), "2")
    assert (status, found["revision"]) == (0, 1)
    assert (checkout / "trainer/answer.py").read_text() == "VALUE = 2\n"
    kept = ledger.revisions(run.ledger)[-1].details["patch"]
    assert (kept["files"], kept["tests"], len(kept["digest"])) == (["trainer/answer.py"], "ok", 64)


def test_a_patch_that_no_longer_fits_the_checkout_is_refused(run: RunPaths, checkout: Path) -> None:
    patch(run, checkout, "trainer/answer.py", "VALUE = 2\n", number=1)
    run.proposal(1).write_bytes(proposed.content(changes=None, patch=True))
    (checkout / "trainer/answer.py").write_text("VALUE = 7\n")
    status, found = gate("apply", str(run.root), "1")
    assert (status, found["findings"][0]["rule"]) == (1, "patch.refused")
    tried = patching.attempt(run, 1)
    assert patching.fits(patching.Tried(found["findings"])).findings
    with pytest.raises(RuntimeError, match="apply it by hand"):
        patching.bring_in(tried)
    assert len(ledger.revisions(run.ledger)) == 1


def test_a_patch_comes_alone(run: RunPaths) -> None:
    proposed.submit(run, patch=True)
    guard = Guard.open(run, worlds=live_run.WORLDS)
    (outcome,) = guard.reconcile(6, success_history=[], now=1.0).proposals
    assert [finding.rule for finding in outcome.findings] == ["proposal.patch"]
