"""The demo's person saves one knob as an editor does; its story comes from the records alone."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gate.contract import knobs
from gate.contract.paths import RunPaths
from trainer import demo, progress, study
from trainer.documents import DocumentError
from trainer.evaluation import EvaluationError, EvaluationResult, Interval

GOLDEN = Path(__file__).parents[1] / "golden" / "run-v1"


@pytest.fixture
def recorded(tmp_path: Path) -> RunPaths:
    """A recorded run of three steps, with the starting knob files."""
    root = tmp_path / "run"
    shutil.copytree(GOLDEN, root)
    for name in knobs.FILES:
        (root / "knobs" / f"{name}.yaml").write_bytes(knobs.render_defaults(name))
    return RunPaths(root)


def test_one_value_is_saved_and_every_comment_stays(recorded: RunPaths) -> None:
    path = recorded.knob_file("user")
    before = path.read_text("utf-8")
    assert demo.edit_as_a_person(recorded, after_step=2)
    after = path.read_text("utf-8")
    changed = [pair for pair in zip(before.splitlines(), after.splitlines(), strict=True)
               if pair[0] != pair[1]]  # fmt: skip
    assert changed == [("user_strategy_mix: 1.0", "user_strategy_mix: 0.75")]
    parsed = knobs.parse("user", path.read_bytes(), worlds=("travel",))
    assert parsed.values["user_strategy_mix"] == 0.75


def test_a_run_that_ends_too_early_is_left_alone(recorded: RunPaths) -> None:
    before = recorded.knob_file("user").read_bytes()
    assert not demo.edit_as_a_person(recorded, after_step=99, patience_s=0.3)
    assert recorded.knob_file("user").read_bytes() == before


def test_the_story_names_the_revision_its_author_and_where_to_look(recorded: RunPaths) -> None:
    screen = io.StringIO()
    demo.tell(Console(file=screen, width=60), recorded)
    story = screen.getvalue()
    ledger = [json.loads(line) for line in recorded.ledger.read_text("utf-8").splitlines()]
    adopted = [line for line in ledger if line["kind"] == "intent"]
    assert "success by step" in story
    assert f"eau show {recorded.root} --failed" in story
    for line in adopted:
        assert f"step {line['step']}: revision {line['revision']}, somebody saved" in story


def evaluated(success: float) -> EvaluationResult:
    return EvaluationResult(
        policy="p", policy_version=0, world="travel", num_tasks=4, trials=2, finished=8,
        quarantined=0, success=success, interval=Interval(success - 0.1, success + 0.1),
        reward=success, metrics={}, agent_turns=3.0, decoding="greedy", knobs_digest="",
        world_digest="", tasks_digest="",
    )  # fmt: skip


def cell(seed: int, start: float, end: float) -> study.Cell:
    return study.Cell(seed, f"s{seed}", evaluated(start), evaluated(end), (start, end), 1.5)


def test_the_study_tells_mean_and_smallest_gain(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text(
        "# Results\n<!-- begin study: generated, edit its source -->\n<!-- end study -->\n"
    )
    study.publish([cell(0, 0.4, 0.9), cell(1, 0.5, 0.8)], [page])
    text = page.read_text("utf-8")
    assert "Gain: mean +0.400, smallest +0.300." in text
    assert "| 1 | 0.500 (0.40 to 0.60) | 0.800 (0.70 to 0.90) | +0.300 | 1.5 |" in text
    assert "seed 1" in (tmp_path / "figures" / "study.svg").read_text("utf-8")


def test_an_evaluation_that_finished_nothing_is_no_zero_in_the_study() -> None:
    broken = replace(cell(0, 0.4, 0.9), end=replace(evaluated(0.9), success=None, quarantined=8))
    with pytest.raises(EvaluationError, match="no episode of the evaluation of p at version 0"):
        study.markdown([broken])


def test_a_step_that_finished_nothing_is_no_zero_in_the_curve() -> None:
    curve = progress.success_curve([{"success": 0.5}, {"success": None}, {"success": 0.0}])
    assert curve == (0.5, 0.0)


def test_a_page_without_a_place_for_the_study_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Nothing here\n")
    with pytest.raises(DocumentError, match="no block named study"):
        study.publish([cell(0, 0.4, 0.9)], [page])
    assert page.read_text("utf-8") == "# Nothing here\n"
