"""A skill that a client would not load is found by lint, with what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from skill import lint
from tests.project.tree import CHECKOUT

FRONT = "---\nname: my-skill\ndescription: Does a thing. Use it when asked.\n---\n# My skill\n"

ZOO = {
    "no front matter": ("# My skill\n", "front_matter"),
    "not closed": ("---\nname: my-skill\ndescription: x\n# My skill\n", "front_matter"),
    "blank line first": ("\n" + FRONT, "front_matter"),
    "byte order mark": ("\ufeff" + FRONT, "front_matter"),
    "a list": ("---\n- name\n---\n", "front_matter"),
    "a tab": (FRONT.replace("name: ", "name:\t"), "skill.tab"),
    "no name": (FRONT.replace("name: my-skill\n", ""), "skill.name"),
    "another name": (FRONT.replace("my-skill", "their-skill", 1), "skill.name"),
    "upper case": (FRONT.replace("my-skill", "My-Skill", 1), "skill.name"),
    "double hyphen": (FRONT.replace("my-skill", "my--skill", 1), "skill.name"),
    "a number": (FRONT.replace("my-skill", "7", 1), "skill.name"),
    "long name": (FRONT.replace("my-skill", "a" * 65, 1), "skill.name"),
    "no description": (FRONT.replace("description", "summary"), "skill.description"),
    "empty description": (
        FRONT.replace("Does a thing. Use it when asked.", '""'),
        "skill.description",
    ),
    "long description": (FRONT.replace("Does", "x" * 1024), "skill.description"),
    "colon in description": (FRONT.replace("thing.", "thing: now."), "front_matter"),
    "unknown key": (FRONT.replace("name:", "version: 1\nname:", 1), "skill.unknown_key"),
    "flow map": (FRONT.replace("name:", "metadata: {a: b}\nname:", 1), "skill.flow"),
    "twice": (FRONT.replace("name:", "name: a\nname:", 1), "front_matter"),
    "anchor": (FRONT.replace("my-skill", "&a my-skill", 1), "front_matter"),
    "long compatibility": (
        FRONT.replace("name:", f"compatibility: {'x' * 501}\nname:", 1),
        "skill.compatibility",
    ),
    "lost reference": (FRONT + "Read references/none.md.\n", "skill.path"),
    "lost link": (FRONT + "Read [this](none.md).\n", "skill.path"),
    "lost script": (FRONT + "Run `scripts/none.py RUN`.\n", "skill.path"),
    "too long": (FRONT + "\n" * 300, "skill.length"),
}


def _skill(root: Path, text: str) -> Path:
    folder = root / "my-skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text(text, "utf-8")
    return folder


def test_a_good_skill_has_no_finding(tmp_path: Path) -> None:
    assert list(lint.check_skill(_skill(tmp_path, FRONT))) == []


@pytest.mark.parametrize("name", ZOO)
def test_a_broken_front_matter_is_found(name: str, tmp_path: Path) -> None:
    text, rule = ZOO[name]
    findings = list(lint.check_skill(_skill(tmp_path, text)))
    assert rule in [finding.rule for finding in findings]
    assert all(finding.next_step for finding in findings)


def test_a_skill_without_a_page_or_in_another_encoding_is_found(tmp_path: Path) -> None:
    assert [finding.rule for finding in lint.check_skill(tmp_path)] == ["skill.missing"]
    (tmp_path / "SKILL.md").write_bytes(b"---\nname: \xff\n---\n")
    assert [finding.rule for finding in lint.check_skill(tmp_path)] == ["skill.text"]


def test_references_lie_one_level_deep(tmp_path: Path) -> None:
    folder = _skill(tmp_path, FRONT)
    (folder / "references" / "deep").mkdir(parents=True)
    (folder / "references" / "deep" / "page.md").touch()
    assert [finding.rule for finding in lint.check_skill(folder)] == ["skill.depth"]


def test_this_repository_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.main([]) == 0
    assert capsys.readouterr().out == "the skill and the lessons are fine\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what lint looks at."""
    for part in ("skill/eau-meta-agent", ".claude", ".agents", "experience"):
        shutil.copytree(CHECKOUT / part, tmp_path / part, symlinks=True)
    assert lint.main(["--root", str(tmp_path)]) == 0
    return tmp_path


@pytest.mark.parametrize("place", lint.LINKS)
def test_a_link_must_be_there_relative_and_right(
    place: str, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = checkout / place / "eau-meta-agent"
    for target in (None, checkout / lint.SKILL, Path("../../skill/elsewhere")):
        link.unlink(missing_ok=True)
        if target is not None:
            link.symlink_to(target)
        capsys.readouterr()
        assert lint.main(["--root", str(checkout), "--json"]) == 1
        (finding,) = json.loads(capsys.readouterr().out)["findings"]
        assert finding["rule"] == "skill.link"


def test_a_stale_index_and_a_broken_lesson_are_found(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "experience" / "INDEX.md").write_text("by hand")
    (checkout / "experience" / "lessons" / "0999-x.md").write_text("nothing")
    assert lint.main(["--root", str(checkout)]) == 1
    out = capsys.readouterr().out
    assert "0999-x.md" in out and "python -m skill lesson index" in out
