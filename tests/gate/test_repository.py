"""`gate check` passes the repository, refuses twelve bad changes to it, and says what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from gate import cli
from gate.guard import repository

LESSON = "experience/lessons/0099-it-surely-helps.md"


class Bad(NamedTuple):
    """One planted change: its name, what it does, and the rule that must refuse it."""

    name: str
    plant: Callable[[Path], object]
    rule: str


def over(path: str, old: str, new: str) -> Callable[[Path], object]:
    """Return what replaces a part of a file."""

    def plant(root: Path) -> None:
        text = (root / path).read_text("utf-8")
        assert old in text
        (root / path).write_text(text.replace(old, new, 1), "utf-8")

    return plant


def written(path: str, text: str) -> Callable[[Path], object]:
    """Return what writes a whole file."""

    def plant(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")

    return plant


def linked(path: str) -> Callable[[Path], object]:
    """Return what puts a link out of the repository into a file's place."""

    def plant(root: Path) -> None:
        (root / path).unlink()
        (root / path).symlink_to("/etc/hostname")

    return plant


TRAVEL = "trainer/worlds/travel"

CLAIM = """\
---
id: 99
status: supported
recorded: 2026-01-01
scope: {world: travel, policy: small}
knobs: [user.max_reveals]
evidence: ["a feeling"]
---
# It surely helps

Trust me.
"""

BAD = (
    Bad("out of range", over("knobs/environment.yaml", "max_steps: 16", "max_steps: 61"), "range"),
    Bad("unknown knob", over("knobs/user.yaml", "max_reveals:", "max_revels:"), "knobs.unknown"),
    Bad("half saved", over("knobs/agent.yaml", "\n# end of knobs", "\n"), "knobs.unfinished"),
    Bad(
        "pay for failure",
        over(
            "knobs/reward.yaml",
            "shaping: []",
            "shaping: [{id: a, event: search_failed, value: 0.1}]",
        ),
        "rules.reward-bounds",
    ),
    Bad(
        "evaluation open to edits",
        over(f"{TRAVEL}/world.yaml", "editable: [env.py,", "editable: [evaluation/, env.py,"),
        "world.editable",
    ),
    Bad(
        "a file to edit that is not there",
        over(f"{TRAVEL}/world.yaml", "editable: [env.py,", "editable: [enw.py, env.py,"),
        "repository.world",
    ),
    Bad("no oracle", lambda root: (root / TRAVEL / "oracle.py").unlink(), "repository.world"),
    Bad(
        "a deed no user has",
        over(f"{TRAVEL}/user.yaml", "do: reveal", "do: win"),
        "rules.user-rules",
    ),
    Bad("a mute persona", written(f"{TRAVEL}/personas/mute.md", "\n"), "rules.personas"),
    Bad(
        "a world that reaches the system",
        over(f"{TRAVEL}/env.py", "import random", "import os\nimport random"),
        "rules.world-imports",
    ),
    Bad(
        "a verifier that runs text",
        over(f"{TRAVEL}/verifier.py", "\nclass ", "\nWORD = eval('1')\n\n\nclass "),
        "rules.world-code",
    ),
    Bad("a link in a world", linked(f"{TRAVEL}/moves.py"), "world.unreadable"),
    Bad("a lesson without a verdict", written(LESSON, CLAIM), "lesson."),
)


@pytest.fixture
def root(tmp_path: Path, checkout: Path) -> Path:
    """Return a checkout with the knobs, one world, and no lesson."""
    shutil.copytree(checkout / "knobs", tmp_path / "knobs")
    ignored = shutil.ignore_patterns("__pycache__", "*.jsonl")
    shutil.copytree(checkout / TRAVEL, tmp_path / TRAVEL, ignore=ignored)
    return tmp_path


def check(root: Path) -> tuple[int, str]:
    told = CliRunner().invoke(cli.app, ["check", str(root), "--json"])
    return told.exit_code, told.stdout


def test_the_repository_passes(checkout: Path) -> None:
    assert repository.inspect(checkout) == ()


def test_a_checkout_and_its_knobs_are_one_target(root: Path) -> None:
    assert check(root)[0] == 0
    assert check(root / "knobs")[0] == 0
    over(f"{TRAVEL}/user.yaml", "do: reveal", "do: win")(root)
    assert (check(root)[0], check(root / "knobs")[0]) == (1, 1)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name.replace(" ", "-"))
def test_a_planted_bad_change_is_refused_with_its_next_step(root: Path, bad: Bad) -> None:
    bad.plant(root)
    told = CliRunner().invoke(cli.app, ["check", str(root), "--json"])
    assert told.exit_code == 1
    assert bad.rule in told.stdout
    for line in told.stdout.splitlines():
        assert '"next_step": ""' not in line


def test_a_target_that_is_none_is_misuse(root: Path) -> None:
    assert check(root / "nowhere")[0] == 2
    told = CliRunner().invoke(cli.app, ["check", str(root), "--proposal", "1"])
    assert told.exit_code == 2


def test_a_world_without_a_declaration_that_can_be_read_is_told_by_it(root: Path) -> None:
    (root / TRAVEL / "world.yaml").write_text("- a\n")
    assert [finding.rule for finding in repository.inspect(root)] == ["world.syntax"]


@pytest.mark.parametrize(
    "program", ["import time; time.sleep(60)", "print('hello')", "print('{}')"]
)
def test_a_reader_of_lessons_that_gives_no_answer_refuses(
    root: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    written(LESSON, CLAIM)(root)
    monkeypatch.setattr(repository, "LINT", (*repository.LINT[:1], "-c", program))
    monkeypatch.setattr(repository, "LINT_S", 3.0)
    assert [finding.rule for finding in repository.inspect(root)] == ["repository.lessons"]
