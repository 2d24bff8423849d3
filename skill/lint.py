"""Lint: the skill's folder is one that coding agents load, and what it names is there.

A front matter that a client cannot read makes a skill vanish without a word, so the rules of
`agentskills validate` are checked here as well, with the line and what to do. Lessons are checked
too, since a lesson that cannot be read is forgotten.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import tree
from skill import fence, front_matter
from skill.commands.page import show_json
from skill.experience import index, pool
from skill.experience.doubts import contradictions

ROOT = Path(__file__).parents[1]
SKILL = "skill/eau-meta-agent"
LINKS = (".claude/skills", ".agents/skills")
"""Where Claude Code and Codex look for the skill."""

MOST_LINES = 300
LONGEST_NAME, LONGEST_DESCRIPTION, LONGEST_COMPATIBILITY = 64, 1024, 500
KEYS = frozenset(
    {"name", "description", "license", "allowed-tools", "metadata", "compatibility"}
)  # fmt: skip
"""Keys that `agentskills validate` knows; any other fails there."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PATH = re.compile(r"(?<![\w/.-])((?:references|scripts|assets)/[\w./-]+)")
_LINK = re.compile(r"\]\(([^)#\s]+)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the skill and the lessons of a checkout; the exit status is 1 with any finding."""
    made = argparse.ArgumentParser(
        prog="python -m skill lint",
        description="Check the skill's folder, the links to it, and the lessons.",
        epilog="example: python -m skill lint --json\nexit status: 0 fine, 1 findings, 2 misuse",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--root", type=Path, default=ROOT, help="the checkout (default: this one)")
    made.add_argument("--json", action="store_true", help="print one JSON object, for programs")
    options = made.parse_args(arguments)
    findings = [*check_checkout(options.root)]
    if options.json:
        told = [finding.to_json() for finding in findings]
        show_json({"passed": not findings, "findings": told}, lists=("findings",))
    else:
        for finding in findings:
            print(f"{finding.severity}: {finding}")
        print("the skill and the lessons are fine" if not findings else f"{len(findings)} findings")
    return 1 if findings else 0


def check_checkout(root: Path) -> Iterator[Finding]:
    """Yield what is wrong with the skill, its links and the lessons of a checkout."""
    yield from check_skill(root / SKILL)
    for place in LINKS:
        yield from _check_link(root / place / Path(SKILL).name, root / SKILL)
    found = pool.read(root / "experience" / "lessons")
    yield from found.refused
    for first, second in contradictions(found):
        message = f"Lessons {first.id} and {second.id} contradict each other."
        yield _flaw("experience", "contradiction", message, "Let a newer one supersede one.")
    written = root / "experience" / "INDEX.md"
    if not written.is_file() or written.read_text("utf-8") != index.render(found):
        message = "experience/INDEX.md is not what the lessons say."
        yield _flaw("experience", "index", message, "Run `python -m skill lesson index`.")


def check_skill(folder: Path) -> Iterator[Finding]:
    """Yield what is wrong with a skill's folder."""
    page = folder / "SKILL.md"
    if not page.is_file():
        yield _flaw("SKILL.md", "missing", f"{folder.name} has no SKILL.md.", "Write one.")
        return
    try:
        text = page.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        yield _flaw("SKILL.md", "text", "SKILL.md is no UTF-8 text.", "Save it as UTF-8.")
        return
    lines = text.count("\n") + 1
    if lines > MOST_LINES:
        message = f"SKILL.md has {lines} lines; at most {MOST_LINES} are read with pleasure."
        yield _flaw("SKILL.md", "length", message, "Move detail into references/.")
    yield from check_front_matter(text, folder.name)
    for source in (page, *sorted((folder / "references").glob("*.md"))):
        yield from _check_paths(source, folder)
    for deep in sorted((folder / "references").glob("*/**/*.md")):
        message = f"{deep.relative_to(folder)} lies more than one level deep."
        yield _flaw("SKILL.md", "depth", message, "Move it into references/ itself.")


def check_front_matter(text: str, folder: str) -> Iterator[Finding]:
    """Yield what keeps clients from loading a skill.

    Args:
        text: The whole of SKILL.md.
        folder: Name of the folder it lies in.
    """
    try:
        front, _ = front_matter.split("SKILL.md", text)
        if "\t" in front:
            line = front[: front.index("\t")].count("\n") + 2
            yield _flaw("SKILL.md", "tab", "The front matter holds a tab.", "Use spaces.", line)
            return
        root = front_matter.read("SKILL.md", front)
    except Refused as error:
        yield from error.findings
        return
    for _, _, node in tree.walk(root):
        if not isinstance(node, tree.Scalar) and node.flow:
            line = node.start.line + 1
            message = "Braces and brackets are refused by strict readers."
            yield _flaw("SKILL.md", "flow", message, "Write one `key: value` a line.", line)
    values = tree.value_of(root)
    for key in values:
        if key not in KEYS:
            message = f"{fence.name(key)} is no key of a skill."
            known = ", ".join(sorted(KEYS))
            yield _flaw("SKILL.md", "unknown_key", message, f"Keep to {known}.")
    yield from _check_values(values, folder)


def _check_values(values: dict[str, object], folder: str) -> Iterator[Finding]:
    name, description = values.get("name"), values.get("description")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        message = "name is missing, or not lower-case words joined by single hyphens."
        yield _flaw("SKILL.md", "name", message, f"Write `name: {folder}`.")
    elif name != folder:
        message = (
            f"name is {fence.name(name)}, the folder is {folder}: clients drop one of the two."
        )
        yield _flaw("SKILL.md", "name", message, f"Write `name: {folder}`.")
    if not isinstance(description, str) or not description.strip():
        message = "description is missing, or no text."
        next_step = "Say in a sentence what the skill does and when to use it."
        yield _flaw("SKILL.md", "description", message, next_step)
    elif len(description) > LONGEST_DESCRIPTION:
        message = f"description has {len(description)} characters, {LONGEST_DESCRIPTION} at most."
        yield _flaw("SKILL.md", "description", message, "Say what and when in fewer words.")
    compatibility = values.get("compatibility", "")
    if not isinstance(compatibility, str) or len(compatibility) > LONGEST_COMPATIBILITY:
        message = f"compatibility is no text of up to {LONGEST_COMPATIBILITY} characters."
        yield _flaw("SKILL.md", "compatibility", message, "Shorten it.")


def _check_paths(page: Path, folder: Path) -> Iterator[Finding]:
    """Yield every path named on a page of the skill that is not there."""
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        named = {(folder, path.rstrip(".")) for path in _PATH.findall(line)}
        named |= {(page.parent, path) for path in _LINK.findall(line) if "://" not in path}
        for base, path in sorted(named, key=str):
            if not (base / path).exists():
                message = f"{path} is named and is not there."
                yield _flaw(page.name, "path", message, "Write it, or do not name it.", number)


def _check_link(link: Path, target: Path) -> Iterator[Finding]:
    place = f"{link.parent.parent.name}/{link.parent.name}/{link.name}"
    if not link.is_symlink():
        message = f"{place} is no symbolic link, so that client does not find the skill."
        yield _flaw(place, "link", message, f"ln -s {os.path.relpath(target, link.parent)} {place}")
    elif os.path.isabs(os.readlink(link)) or link.resolve() != target.resolve():
        message = f"{place} leads to {os.readlink(link)}, not to the skill by a relative path."
        yield _flaw(place, "link", message, f"Link it to {os.path.relpath(target, link.parent)}.")


def _flaw(file: str, rule: str, message: str, next_step: str, line: int | None = None) -> Finding:
    return Finding(f"skill.{rule}", Severity.ERROR, message, next_step, file, line)
