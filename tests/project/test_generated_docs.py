"""What is generated from the code is up to date, and rewriting touches nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate.contract import records
from trainer import documents, recipe_file
from trainer.documents import DocumentError

PAGES = ("docs/knobs.md", "docs/records.md", "docs/recipes.md")


@pytest.fixture
def copy(tmp_path: Path, checkout: Path) -> Path:
    """Return a copy of the documents and of what they are made from."""
    for part in ("docs", "knobs", documents.GOLDEN):
        shutil.copytree(checkout / part, tmp_path / part)
    documents.rewrite(tmp_path)
    return tmp_path


def test_no_generated_document_is_stale() -> None:
    assert documents.stale() == [], "run `make docs`"


def test_every_event_kind_and_field_is_on_the_page(checkout: Path) -> None:
    page = (checkout / "docs/records.md").read_text("utf-8")
    for kind in records.EVENT_KINDS:
        assert f"| `{kind}` |" in page
    for name in records.RECORDS:
        assert f"## `{name}`" in page


def test_every_recipe_is_on_the_page(checkout: Path) -> None:
    page = (checkout / "docs/recipes.md").read_text("utf-8")
    for name in recipe_file.names():
        assert f"| `{name}` |" in page


@pytest.mark.parametrize("page", PAGES)
def test_a_page_that_was_changed_by_hand_is_stale_and_mended(copy: Path, page: str) -> None:
    path = copy / page
    good = path.read_text("utf-8")
    path.write_text(good.replace("| ", "|  ", 1), "utf-8")
    assert documents.stale(copy) == [Path(page)]
    assert documents.rewrite(copy) == [Path(page)]
    assert path.read_text("utf-8") == good
    assert documents.stale(copy) == []


def test_words_of_people_around_a_block_stay(copy: Path) -> None:
    path = copy / "docs/recipes.md"
    path.write_text(path.read_text("utf-8").replace("## Settings", "## Settings\n\nMine."), "utf-8")
    assert documents.stale(copy) == []
    assert documents.replace_block(path, "recipes", "| new |")
    text = path.read_text("utf-8")
    assert "## Settings\n\nMine." in text and "| new |" in text
    assert "begin settings" in text


def test_a_page_without_a_place_for_its_block_says_what_to_add(copy: Path) -> None:
    path = copy / "docs/records.md"
    path.write_text(path.read_text("utf-8").replace("<!-- end lines -->", ""), "utf-8")
    assert not documents.replace_block(path, "lines", "x")
    with pytest.raises(DocumentError, match="add <!-- begin lines"):
        documents.rewrite(copy)


def test_a_page_that_is_not_there_has_no_place(tmp_path: Path) -> None:
    assert not documents.replace_block(tmp_path / "nowhere.md", "lines", "x")


def test_a_promoted_starting_value_is_no_stale_document(copy: Path) -> None:
    path = copy / "knobs/user.yaml"
    path.write_text(path.read_text("utf-8").replace("max_reveals: 2", "max_reveals: 3"), "utf-8")
    assert documents.stale(copy) == []
    path.write_text(path.read_text("utf-8").replace("# ", "#  ", 1), "utf-8")
    assert documents.stale(copy) == [Path("knobs/user.yaml")]
    documents.rewrite(copy)
    assert "max_reveals: 3" in path.read_text("utf-8")
