"""Documents that are made from the code: what it declares and what a page says cannot part.

Two kinds: whole files, such as the starting set of knobs, and blocks between two markers inside
pages that people write. `stale` tells which differ; `rewrite` mends them. This module knows
nothing about what the pages say beyond the declarations that it renders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from gate import document as gate_page
from gate.contract import files, knobs, records
from gate.contract.knobs import document as knobs_page
from trainer import recipe_file, reproduction, world_table
from trainer.errors import Unusable
from trainer.looking import document as looking_page
from trainer.probe import document as probe_page
from trainer.recipe import RunConfig
from trainer.worlds import catalog

CHECKOUT = Path(__file__).resolve().parents[1]
GOLDEN = Path("tests/golden/run-v1")
"""The recorded run that example lines are taken from."""
LONGEST_TEXT = 90
"""Characters of a text that an example repeats."""
MOST_ENTRIES = 4
"""Entries of a list that an example repeats."""


class DocumentError(Unusable):
    """A page that cannot be made; the message says what to do."""


def whole_files(checkout: Path = CHECKOUT) -> dict[Path, bytes]:
    """Return the files that are made from code, by their path in the checkout.

    The starting knobs keep the values that they have, since `eau promote` changes them.
    """
    made = {Path(f"knobs/{name}.yaml"): _starting_file(checkout, name) for name in knobs.FILES}
    made[Path("docs/knobs.md")] = knobs_page.markdown().encode()
    return made


def blocks(checkout: Path = CHECKOUT) -> dict[tuple[Path, str], str]:
    """Return the text of every generated block, by page and name."""
    page = Path("docs/records.md")
    return {
        (page, "fields"): records.markdown(),
        (page, "lines"): _examples(checkout / GOLDEN),
        (Path("docs/gate.md"), "rules"): gate_page.markdown(),
        (Path("docs/looking.md"), "fields"): looking_page.markdown(),
        (Path("docs/probe.md"), "checks"): probe_page.markdown(),
        (Path("docs/recipes.md"), "recipes"): _recipes(),
        (Path("docs/recipes.md"), "settings"): _settings(),
        (Path("docs/reproducing.md"), "origins"): reproduction.markdown(),
        (Path("docs/worlds.md"), "worlds"): world_table.markdown(),
        (Path("docs/worlds.md"), "declarations"): world_table.declarations(),
    }


def _starting_file(checkout: Path, name: str) -> bytes:
    try:
        content = (checkout / f"knobs/{name}.yaml").read_bytes()
        values = knobs.parse(name, content, worlds=tuple(catalog.WORLDS)).values
    except (OSError, knobs.Refused):
        return knobs.render_defaults(name)
    return knobs.render(name, knobs.Knobs({**knobs.defaults().values, name: values}))


def stale(checkout: Path = CHECKOUT) -> list[Path]:
    """Return the documents that do not say what the code says."""
    found = {
        path
        for path, content in whole_files(checkout).items()
        if not (checkout / path).is_file() or (checkout / path).read_bytes() != content
    }
    for (path, name), text in blocks(checkout).items():
        page = checkout / path
        if not page.is_file() or with_block(page.read_text("utf-8"), name, text) != page.read_text(
            "utf-8"
        ):
            found.add(path)
    return sorted(found)


def rewrite(checkout: Path = CHECKOUT) -> list[Path]:
    """Write every stale document anew; returns which those were.

    Raises:
        DocumentError: if a page has no place for its block.
    """
    old = stale(checkout)
    for path, content in whole_files(checkout).items():
        if path in old:
            files.write_whole(checkout / path, content)
    for (path, name), text in blocks(checkout).items():
        if path in old and not replace_block(checkout / path, name, text):
            begin, end = _markers(name)
            raise DocumentError(f"{path} has no place for its block; add {begin} and {end}")
    return old


def replace_block(page: Path, name: str, text: str) -> bool:
    """Replace the block of that name in a page.

    Args:
        page: A markdown file.
        name: What stands in the block's markers.
        text: The block's new content.

    Returns:
        False if there is no such page or it has no place for the block.
    """
    if not page.is_file():
        return False
    before = page.read_text("utf-8")
    after = with_block(before, name, text)
    if after is None:
        return False
    if after != before:
        files.write_whole(page, after.encode())
    return True


def with_block(page: str, name: str, text: str) -> str | None:
    """Return a page's text with another content of one block; None if it has no such block."""
    begin, end = _markers(name)
    if page.count(begin) != 1 or page.count(end) != 1:
        return None
    head, rest = page.split(begin)
    if end not in rest:
        return None
    return f"{head}{begin}\n\n{text.strip()}\n\n{end}{rest.split(end)[1]}"


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- begin {name}: generated, edit its source -->", f"<!-- end {name} -->"


def _examples(golden: Path) -> str:
    """Return one real record of every file, long texts and lists cut."""
    parts: list[str] = []
    for name in records.RECORDS:
        path = golden / name.replace("NNNNNN", "000002")
        lines = files.read_lines(path).records
        if not lines:
            raise DocumentError(f"{path} holds no record; restore the golden run")
        shown = json.dumps(_cut(lines[-1]), indent=1, ensure_ascii=False)
        parts.append(f"A record of `{name}`:\n\n```json\n{_flat(shown)}\n```\n")
    return "\n".join(parts)


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return value[:LONGEST_TEXT] + "..."
    if isinstance(value, list):
        more = ["..."] if len(value) > MOST_ENTRIES else []
        return [_cut(entry) for entry in value[:MOST_ENTRIES]] + more
    if isinstance(value, dict):
        return {key: _cut(entry) for key, entry in value.items()}
    return value


def _flat(text: str) -> str:
    """Return indented JSON with its innermost maps and lists on one line each, if they fit."""

    def join(match: re.Match[str]) -> str:
        line = re.sub(r"\s*\n\s*", " ", match.group())
        return line if len(line) <= LONGEST_TEXT else match.group()

    return re.sub(r"[\[{]\n[^\[\]{}]*[\]}]", join, text)


def _recipes() -> str:
    """Return the table of the built-in recipes: what each is for and what it sets itself."""
    rows = ["| recipe | extends | what it is for | sets |", "|---|---|---|---|"]
    for name in recipe_file.names():
        text = (recipe_file.BUILT_IN / f"{name}.yaml").read_text("utf-8")
        values = YAML(typ="safe", pure=True).load(text)
        base = values.pop("extends", "")
        values.pop("name", None)
        lines = text.splitlines()
        comment = [line.lstrip("# ") for line in lines[: _opening_comment(lines)]]
        told = ", ".join(f"`{key}={_yaml(value)}`" for key, value in _flatten(values))
        row = (f"`{name}`", f"`{base}`" if base else "", " ".join(comment), told)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return "\n".join(rows)


def _opening_comment(lines: list[str]) -> int:
    return next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))


def _settings() -> str:
    """Return the table of every setting that a recipe may hold, with its default."""
    rows = ["| setting | default |", "|---|---|"]
    defaults = recipe_file.to_values(RunConfig(name=""))
    rows += [f"| `{key}` | `{_yaml(value)}` |" for key, value in _flatten(defaults)]
    return "\n".join(rows)


def _flatten(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            found += _flatten(value, f"{name}.")
        else:
            found.append((name, value))
    return found


def _yaml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
