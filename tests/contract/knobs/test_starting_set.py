"""The starting set at the top of the repository and the knobs page say what the schemas say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gate.contract import knobs
from gate.contract.knobs import document

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("file", knobs.FILES)
def test_the_starting_file_is_the_rendered_one(file: str) -> None:
    stale = f"write gate.contract.knobs.render_defaults({file!r}) to knobs/{file}.yaml again"
    assert (ROOT / "knobs" / f"{file}.yaml").read_bytes() == knobs.render_defaults(file), stale


@pytest.mark.parametrize("file", knobs.FILES)
def test_an_editor_finds_the_schema_from_the_first_line(file: str) -> None:
    first = knobs.render_defaults(file).decode().split("\n")[0]
    prefix = "# yaml-language-server: $schema="
    assert first.startswith(prefix)
    path = ROOT / "knobs" / first.removeprefix(prefix)
    assert json.loads(path.read_text())["title"].startswith(f"{file}.yaml")
    elsewhere = knobs.render_defaults(file, schema_path="/there.json").decode().split("\n")[0]
    assert elsewhere == f"{prefix}/there.json"


@pytest.mark.parametrize("spec", knobs.specs().values(), ids=lambda spec: spec.path)
def test_each_knob_is_explained_above_its_value(spec: knobs.KnobSpec) -> None:
    lines = knobs.render_defaults(spec.file).decode().split("\n")
    number = next(n for n, line in enumerate(lines) if line.startswith(f"{spec.key}:"))
    start = number
    while lines[start - 1].startswith("# "):
        start -= 1
    words = " ".join(line.removeprefix("# ") for line in lines[start:number])
    assert words.startswith(spec.description)


def test_every_knob_has_its_row_and_its_sentence_on_the_page() -> None:
    page = document.markdown()
    for spec in knobs.specs().values():
        assert f"| `{spec.path}` |" in page
        assert spec.description in page
    assert "## How to add a knob" in page
    widths = {line.replace("\\|", "").count("|") for line in page.split("\n") if line[:1] == "|"}
    assert widths == {9}
