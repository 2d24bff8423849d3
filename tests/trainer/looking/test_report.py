"""A page about a run loads nothing, runs nothing, and tells what the records say."""

from __future__ import annotations

import os
import re
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gate.contract import files
from gate.contract.paths import RunPaths
from tests.trainer.looking import mended_run
from tests.trainer.looking.mended_run import NOW
from trainer.cli import app
from trainer.looking.reading import Reader, Reading
from trainer.looking.report import charts, dialogues, sections
from trainer.looking.report.charts import Curve, Frame

HOSTILE = (
    "</script><script>alert(1)</script></style><img src=https://evil.example/x onerror=a()>"
    " ]]> --> &lt; \" ' \u202eright\u200b \x1b[2J \ud800"
)
LOADING = {"src", "href", "srcset", "data", "action", "poster", "background", "xlink:href"}
"""Attributes by which a page would load something."""
TAGS = set(
    "html head meta title style body h1 h2 section p figure figcaption div span i svg g rect line "
    "text polyline polygon circle table thead tbody tr th td details summary b small".split()
)
"""Every tag that a page may hold."""


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.depth: list[str] = []
        self.feed(content)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember a tag that stays open, and its attributes."""
        self.tags.add(tag)
        self.attributes += attrs
        if tag != "meta":
            self.depth.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember a tag that ends itself, and its attributes."""
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last, which must be this one."""
        assert self.depth.pop() == tag, f"{tag} closes nothing"

    def handle_data(self, data: str) -> None:
        """Remember words, those of the style sheet left out."""
        if self.depth and self.depth[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        """The words that a reader sees."""
        return " ".join(" ".join(self.words).split())


def written(reading: Reading) -> str:
    return sections.write(reading, now=NOW)


def test_it_tells_the_run_from_its_figures_to_its_versions(reading: Reading) -> None:
    told = Page(written(reading)).text
    assert "40 of 50 training steps, under way." in told
    assert "Success with the symbolic user: 0.75 (0.69 to 0.80) over the first 10 steps" in told
    assert "1 of them planted as a fault; 1 verdict: help (revision 2)." in told
    assert "proposal 1 by operator, taking back revision 1" in told
    assert "+0.450 (+0.300 to +0.600)" in told
    assert "a usual success, of steps 38 to 40: 000039-00" in told
    assert "under the planted fault, revision 1 of step 16: 0000" in told
    assert "Every knob" in told or "every knob is what the run was launched with" in told
    for heading in ("Success", "Tests", "Dialogues", "How episodes ended", "The learner"):
        assert heading in told


def test_it_is_one_small_file_of_known_tags_that_loads_nothing(reading: Reading) -> None:
    content = written(reading)
    page = Page(content)
    assert len(content.encode()) < 1_000_000
    assert page.tags <= TAGS
    assert [one for one in page.attributes if one[0] in LOADING or one[0].startswith("on")] == []
    assert not re.search(r"url\(|@import|https?:|//[a-z]", content)
    assert "default-src 'none'" in content
    assert page.depth == []


@pytest.mark.parametrize(
    "field", ["id", "task_id", "world", "arm", "stop", "turns", "step", "event", "reason", "knob"]
)
def test_text_of_others_can_put_nothing_into_the_page(own: RunPaths, field: str) -> None:
    number = mended_run.LAST + 1
    turn = {"speaker": HOSTILE, "text": HOSTILE, "agent_turn": 0, "voice": HOSTILE}
    turn |= {"events": [HOSTILE], "revealed": [HOSTILE]}
    changed = {"turns": [turn]} if field == "turns" else {field: HOSTILE}
    for success in (1.0, 0.0):
        files.append_line(own.episodes_of(number), mended_run.episode(number, 0, success) | changed)
    reasons = {HOSTILE: 32}
    arms = {HOSTILE: 0.5, "symbolic": 0.5}
    hostile = {"stop_reasons": reasons, "success_by_arm": arms, "episodes_by_arm": {HOSTILE: 9}}
    files.append_line(own.steps, mended_run.step(number, **(hostile if field == "step" else {})))
    mended_run.tell(own, not_protected=[HOSTILE], phase=HOSTILE if field == "reason" else "failed")
    page = Page(written(Reader(own).read()))
    assert page.tags <= TAGS and page.depth == []
    assert [one for one in page.attributes if one[0] in LOADING or one[0].startswith("on")] == []
    hidden = {"\u202e", "\u200b", "\x1b", "\ud800"}
    everything = page.text + "".join(value or "" for _, value in page.attributes)
    assert hidden & set(everything) == set()
    assert "\\x202eright" in everything and "<script>alert(1)</script>" in everything


def test_a_run_without_a_step_has_a_page(tmp_path: Path) -> None:
    told = Page(sections.write(Reader(RunPaths(tmp_path)).read(), now=NOW)).text
    assert "No step is on record; the run is not started." in told


def test_a_ledger_that_was_altered_is_told_and_the_curves_stay(own: RunPaths) -> None:
    own.ledger.write_bytes(own.ledger.read_bytes().replace(b"too few turns", b"too few tunes"))
    page = Page(written(Reader(own).read()))
    assert "cannot be trusted" in page.text and "polyline" in page.tags


def test_a_long_run_stays_a_small_page(own: RunPaths) -> None:
    lines = [files.encode_line(mended_run.step(number)) for number in range(41, 3001)]
    with own.steps.open("ab") as stream:
        stream.write(b"\n".join(lines) + b"\n")
    content = written(Reader(own).read())
    assert "3000 of 50 training steps" in content
    assert len(content.encode()) < 300_000


def test_the_usual_dialogue_is_the_one_of_median_length(own: RunPaths) -> None:
    turn = {"speaker": "agent", "text": "x", "agent_turn": 0}
    own.episodes_of(40).unlink()
    for index, length in enumerate((9, 1, 5)):
        one = mended_run.episode(40, index, 1.0, turns=[turn] * length)
        files.append_line(own.episodes_of(40), one)
    for number in (38, 39):
        own.episodes_of(number).unlink()
    (success, *_) = dialogues.chosen(Reader(own).read())
    assert len(success.episode["turns"]) == 5


def test_a_run_without_a_fault_shows_none(checkout: Path) -> None:
    golden = Reader(RunPaths(checkout / "tests/golden/run-v1")).read()
    assert dialogues.fault_of(golden) is None
    assert all("fault" not in one.why for one in dialogues.chosen(golden))


def test_axes_have_round_numbers_that_hold_every_value() -> None:
    assert charts.span([Curve("x", [(1, 0.011), (2, 0.043)], 0)]) == pytest.approx((0.01, 0.05))
    low, high = charts.span([Curve("x", [(1, -3.2), (2, 7.9)], 0)])
    assert low <= -3.2 and high >= 7.9 and (high - low) / 4 in (2.5, 5.0)
    assert charts.span([Curve("x", [(1, 0.0)], 0)])[0] <= 0.0
    assert charts.span([]) == (0.0, 1.0)


def test_a_gap_of_steps_is_a_gap_of_the_curve() -> None:
    frame = Frame(300, 100, 1, 30, 0.0, 1.0)
    points = [(step, 0.5) for step in (*range(1, 10), *range(20, 30))]
    assert charts.lines([Curve("x", points, 0)], frame, title="t").count("<polyline") == 2


def test_the_command_writes_the_file_and_says_where(own: RunPaths, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    before = sorted(own.root.rglob("*"))
    outcome = CliRunner().invoke(app, ["report", str(own.root), "--out", str(target)])
    assert (outcome.exit_code, outcome.output) == (0, f"{target}\n")
    assert target.read_text().startswith("<!doctype html>")
    assert sorted(own.root.rglob("*")) == before


def test_a_place_that_cannot_be_written_is_misuse(own: RunPaths, tmp_path: Path) -> None:
    target = tmp_path / "missing" / "page.html"
    outcome = CliRunner().invoke(app, ["report", str(own.root), "--out", str(target)])
    assert outcome.exit_code == 2
    assert "cannot be written: No such file or directory" in " ".join(
        outcome.output.replace("│", " ").split()
    )
    assert not target.parent.exists()


def test_a_pipe_is_written_to_and_stays_one(own: RunPaths, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reading = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reading.start()
    outcome = CliRunner().invoke(app, ["report", str(own.root), "--out", str(pipe)])
    reading.join()
    assert (outcome.exit_code, outcome.output) == (0, "")
    assert found[0].startswith(b"<!doctype html>") and pipe.is_fifo()
