"""What the pages of the skill tell is so: symptoms, knobs, reasons, the example of a proposal."""

from __future__ import annotations

import re

from gate.contract import knobs, proposal_reading
from skill.diagnosis import detectors
from tests.project.tree import CHECKOUT

FOLDER = CHECKOUT / "skill" / "eau-meta-agent"
PAGES = {path.name: path.read_text("utf-8") for path in FOLDER.rglob("*.md")}
NAMES = set(detectors.DETECTORS) - {"entropy"} | {
    "entropy_collapse",
    "entropy_eruption",
    "template_collapse",
}
"""Every name that a symptom may have."""


def test_every_symptom_has_a_row_on_both_pages_and_no_row_is_left_over() -> None:
    for page in ("SKILL.md", "symptoms.md"):
        rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGES[page], flags=re.MULTILINE)
        told = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
        assert sorted(told) == sorted(NAMES), page


def test_every_symptom_that_a_detector_names_is_among_them() -> None:
    sources = (CHECKOUT / "skill" / "diagnosis" / "detectors").glob("*.py")
    named = {
        name
        for path in sources
        for name in re.findall(r'Symptom\(\s*"(\w+)"', path.read_text("utf-8"))
    }
    assert named == NAMES


def test_every_knob_that_is_named_is_declared() -> None:
    files = "|".join(knobs.FILES)
    named = {
        name
        for text in PAGES.values()
        for name in re.findall(rf"`((?:{files})\.[a-z_]+)`", text)
        if not name.endswith(".yaml")
    }
    assert len(named) >= 10
    assert sorted(named - knobs.specs().keys()) == []


def test_every_knob_that_a_detector_names_is_declared() -> None:
    files = "|".join(knobs.FILES)
    sources = (CHECKOUT / "skill" / "diagnosis" / "detectors").glob("*.py")
    text = " ".join(re.sub(r'"\s*"', "", path.read_text("utf-8")) for path in sources)
    named = set(re.findall(rf"\b(?:{files})\.[a-z]+_[a-z_]+\b", text))
    assert len(named) >= 10
    assert sorted(named - knobs.specs().keys()) == []


def test_the_blame_reasons_that_are_told_are_those_that_are_given() -> None:
    source = (CHECKOUT / "skill" / "diagnosis" / "blame.py").read_text("utf-8")
    given = set(re.findall(r'Party\.\w+, "(\w+)"', source)) | {"dawdled", "gave_the_wrong_answer"}
    told = re.findall(r"^\| [^|]+ \| \w+ \| (`.*`) \|$", PAGES["blame.md"], flags=re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(told))) == given - {"quarantined"}


def test_the_example_of_a_proposal_is_one() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGES["proposals.md"], flags=re.DOTALL)
    proposal = proposal_reading.read(7, example.encode(), worlds=["travel"])
    assert proposal.changes == {"user.min_questions": 1}
    assert (proposal.steps, proposal.episodes) == ((212, 213, 214), ("000214-03", "000214-17"))
