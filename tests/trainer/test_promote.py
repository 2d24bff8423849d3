"""What the gate found to help comes back into the repository as a diff, and nothing else does."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gate.contract import ledger, revisions
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, EntryKind, RevisionKind
from gate.contract.paths import RunPaths
from tests import live_run
from tests.project.tree import CHECKOUT
from trainer import cli, proven


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    made = live_run.launch(tmp_path / "runs" / "a")
    made.launch.write_text("attempt: 1\n")
    place = made.world / "0000" / "travel"
    place.joinpath("verifier.py").write_text("OLD = 1\nSAME = 2\n")
    return made


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    shutil.copytree(CHECKOUT / "knobs", root / "knobs")
    world = root / "trainer" / "worlds" / "travel"
    world.mkdir(parents=True)
    (world / "verifier.py").write_text("OLD = 1\nSAME = 2\n")
    return root


def change(run: RunPaths, path: str, old: Any, new: Any, **more: Any) -> int:
    name = path.partition(".")[0]
    content = live_run.with_value(run.knob_file(name).read_bytes(), path.split(".")[1], new)
    made = revisions.commit(
        run,
        {f"knobs/{name}.yaml": content},
        author=Author.META_AGENT,
        reason="a test",
        kind=RevisionKind.COMMAND,
        changes=[KnobChange(path, old, new)],
        step=1,
        now=1.0,
        **more,
    )
    return made.number


def judge(run: RunPaths, revision: int, verdict: str) -> None:
    body = {"revision": revision, "verdict": verdict}
    ledger.append(run.ledger, EntryKind.OUTCOME, body, step=9, now=2.0)


def edit_world(run: RunPaths, text: str, folder: str) -> int:
    made = revisions.commit(
        run,
        {f"world/{folder}/travel/verifier.py": text.encode()},
        author=Author.META_AGENT,
        reason="a test",
        kind=RevisionKind.PROPOSAL,
        changes=[],
        step=1,
        now=1.0,
        world=int(folder),
        details={"proposal": {"number": 1, "window": 5, "concurrent": False}},
    )
    return made.number


def promote(run: RunPaths, checkout: Path, *flags: str) -> tuple[int, Any]:
    words = ["promote", str(run.root), "--checkout", str(checkout), "--json", *flags]
    ended = CliRunner().invoke(cli.app, words)
    assert ended.exit_code in (0, 1), ended.output
    return ended.exit_code, json.loads(ended.stdout)


def test_only_what_a_verdict_calls_a_help_is_taken_over(run: RunPaths, checkout: Path) -> None:
    judge(run, change(run, "user.max_reveals", 2, 3), "help")
    judge(run, change(run, "user.facts_per_reply", 1, 2), "null")
    change(run, "agent.entropy_coeff", 0.001, 0.002)
    status, told = promote(run, checkout)
    assert (status, told["revisions"]) == (0, [1])
    assert told["left"] == {"2": "null", "3": "no verdict"}
    assert "+max_reveals: 3\n" in told["patch"] and "facts_per_reply: 2" not in told["patch"]
    assert proven.sets(run) == ["knobs.user.max_reveals=3"]
    _, told = promote(run, checkout, "--everything")
    assert told["revisions"] == [1, 2, 3] and told["files"] == [
        "knobs/user.yaml",
        "knobs/agent.yaml",
    ]


def test_a_help_that_was_judged_anew_or_taken_back_is_not_proven(
    run: RunPaths, checkout: Path
) -> None:
    number = change(run, "user.max_reveals", 2, 3)
    judge(run, number, "help")
    judge(run, number, "harm")
    assert promote(run, checkout)[1]["files"] == []
    judge(run, number, "help")
    content = live_run.with_value(run.knob_file("user").read_bytes(), "max_reveals", 2)
    revisions.commit(
        run, {"knobs/user.yaml": content}, author=Author.GATE, reason="x",
        kind=RevisionKind.REVERT, changes=[KnobChange("user.max_reveals", 3, 2)], step=2, now=3.0,
        details={"reverts": number},
    )  # fmt: skip
    assert promote(run, checkout)[1]["files"] == []


def test_the_diff_is_a_patch_that_git_applies_and_apply_writes_the_same(
    run: RunPaths, checkout: Path, tmp_path: Path
) -> None:
    judge(run, change(run, "user.max_reveals", 2, 3), "help")
    judge(run, edit_world(run, "OLD = 2\nSAME = 2\n", "0002"), "help")
    copy = tmp_path / "copy"
    shutil.copytree(checkout, copy)
    _, told = promote(run, checkout)
    ended = subprocess.run(
        ["git", "apply", "-"], input=told["patch"], text=True, cwd=copy, capture_output=True
    )
    assert ended.returncode == 0, ended.stderr
    assert promote(run, checkout, "--apply")[1]["written"]
    for path in ("knobs/user.yaml", "trainer/worlds/travel/verifier.py"):
        assert (checkout / path).read_bytes() == (copy / path).read_bytes()
    assert promote(run, checkout)[1]["files"] == []


def test_a_world_that_changed_in_the_repository_meanwhile_is_left_alone(
    run: RunPaths, checkout: Path
) -> None:
    judge(run, edit_world(run, "OLD = 2\n", "0001"), "help")
    place = checkout / "trainer" / "worlds" / "travel" / "verifier.py"
    place.write_text("MINE = 1\n")
    status, told = promote(run, checkout, "--apply")
    assert status == 1 and list(told["conflicts"]) == ["trainer/worlds/travel/verifier.py"]
    assert place.read_text() == "MINE = 1\n"


def test_a_proven_world_on_an_unproven_one_needs_a_word(run: RunPaths, checkout: Path) -> None:
    edit_world(run, "OLD = 2\n", "0001")
    judge(run, edit_world(run, "OLD = 3\n", "0002"), "help")
    with pytest.raises(proven.PromotionError, match="on top of revision 1, which is not proven"):
        proven.take(run)
    assert promote(run, checkout, "--everything")[1]["files"] == [
        "trainer/worlds/travel/verifier.py"
    ]
