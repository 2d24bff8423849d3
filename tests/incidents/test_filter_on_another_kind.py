"""A disclosure filter tested the kind `shape` (8% of facts); the leaks had `return` (18%)."""

from __future__ import annotations

from pathlib import Path

from tests import candidates
from tests.incidents.faulty_users import faulty, recites

FILTER = (
    "rules:\n"
    "  - id: shape_filter\n"
    "    when: {act: [ask, both], kind: [shape]}\n"
    "    do: forget\n"
    '    say: ["Sorry, I cannot tell you that."]\n'
)
OTHER_KINDS = ["edge_case", "constant", "branch", "signature"]


def test_a_filter_on_a_kind_that_no_fact_has_is_refused(tmp_path: Path) -> None:
    asked = candidates.request(tmp_path, "colbench", edits={"user.yaml": {"rules:\n": FILTER}})
    (lost,) = candidates.errors(candidates.probed(asked, "coverage"))
    assert lost.value == "shape"
    assert "return_shape" in lost.message


def test_a_leak_in_another_kind_than_the_filtered_one_is_told_by_its_kind(tmp_path: Path) -> None:
    filtered = {"user.reveal_kinds": OTHER_KINDS, "user.max_reply_chars": 800}
    asked = candidates.request(tmp_path, "colbench", new=filtered, alone=True)
    report = candidates.probed(asked, "overlap", make_user=faulty(recites("constant", length=390)))
    (leak,) = candidates.errors(report, "overlap")
    assert "the reference answer" in leak.message
    assert "of the kinds constant" in leak.message


def test_a_pattern_that_matches_no_kind_withholds_everything_and_is_refused(
    tmp_path: Path,
) -> None:
    asked = candidates.request(tmp_path, "colbench", new={"user.reveal_kinds": ["shape", "return"]})
    (lost,) = candidates.errors(candidates.probed(asked, "coverage"))
    assert lost.value == ["shape", "return"]


def test_a_kind_that_no_question_brings_out_is_refused(tmp_path: Path) -> None:
    mute = FILTER.replace("[shape]", "[return_shape]")
    asked = candidates.request(
        tmp_path, "colbench", edits={"user.yaml": {"rules:\n": mute}}, tasks=8
    )
    told = candidates.errors(candidates.probed(asked, "coverage"))
    assert [one.value for one in told] == ["return_shape"]
