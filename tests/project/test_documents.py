"""The documents are true about the repository, and nothing private has slipped into it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project import tree
from trainer.episode import StopReason

DOCUMENTS = [path for path in tree.files() if path.suffix == ".md"]
PRIVATE = {
    "a path of one machine": r"(?<![\w.$}~-])/(?:wor[k]|roo[t]|hom[e]/\w+|Use[r]s/\w+)/",
    "the host of a package index": r"files\.pythonhoste[d]|download\.pytorc[h]|pypi\.or[g]/simple",
    "a credential in an address": r"https?://[^/\s:@'\"{}<>]+:[^/\s@'\"{}<>]+@",
    "an API key": r"\b(?:sk-|hf_|gh[pousr]_|AKIA)[A-Za-z0-9_-]{16,}",
    "a private key": r"BEGIN [A-Z ]*PRIVAT[E] KEY",
}
"""What must not be in the repository -> how it looks (spelt so that this file does not match)."""


def _text(path: Path | str) -> str:
    return (tree.CHECKOUT / path).read_text("utf-8")


def test_claude_reads_the_same_page_as_every_other_agent() -> None:
    assert _text("CLAUDE.md").strip() == "@AGENTS.md"


@pytest.mark.parametrize(("page", "limit"), [("README.md", 150), ("AGENTS.md", 110)])
def test_the_first_pages_stay_short(page: str, limit: int) -> None:
    assert len(_text(page).splitlines()) <= limit


def test_every_path_on_the_readme_map_exists() -> None:
    table = _text("README.md").split("## Map of the repository")[1].split("\n## ")[0]
    named = re.findall(r"^\| `([^`]+)` \|", table, flags=re.MULTILINE)
    assert len(named) >= 10
    assert [path for path in named if not (tree.CHECKOUT / path).exists()] == []


def test_every_top_level_folder_is_on_the_readme_map() -> None:
    table = _text("README.md").split("## Map of the repository")[1].split("\n## ")[0]
    tops = {path.parts[0] for path in tree.files() if len(path.parts) > 1}
    assert [top for top in sorted(tops) if top[0] != "." and f"`{top}/`" not in table] == []


@pytest.mark.parametrize("page", DOCUMENTS, ids=str)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", _text(page))
    local = [target for target in targets if "://" not in target]
    assert [t for t in local if not (tree.CHECKOUT / page.parent / t).exists()] == []


def test_every_decision_is_listed_and_numbered_in_turn() -> None:
    folder = Path("docs/decisions")
    pages = sorted(p.name for p in tree.files() if p.parent == folder and p.name != "README.md")
    assert [int(name[:4]) for name in pages] == list(range(len(pages)))
    index = _text(folder / "README.md")
    assert [name for name in pages if f"({name})" not in index] == []


@pytest.mark.parametrize(
    "page", [p for p in DOCUMENTS if p.parent == Path("docs/decisions")], ids=str
)
def test_a_decision_says_what_was_refused_and_what_follows(page: Path) -> None:
    if page.name != "README.md":
        headings = re.findall(r"^## (.*)", _text(page), flags=re.MULTILINE)
        assert headings == ["Context", "Decision", "Alternatives refused", "Consequences"]


def test_the_page_on_semantics_tells_the_fate_of_every_stop_reason() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (\w+) \| (yes|no) \|", _text("docs/semantics.md"), flags=re.MULTILINE
    )
    told = {name: (outcome, cut == "yes") for name, outcome, cut in rows}
    assert told == {stop.value: (stop.outcome.value, stop.truncated) for stop in StopReason}


@pytest.mark.parametrize("what", PRIVATE)
def test_nothing_private_is_in_the_repository(what: str) -> None:
    pattern = re.compile(PRIVATE[what])
    found: list[str] = []
    for path in tree.files():
        content = (tree.CHECKOUT / path).read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path}:{number}")
    assert found == [], what
