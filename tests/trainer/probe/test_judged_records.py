"""A probe asks no judge: what one said at the time counts, other questions are unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gate.contract.findings import Severity
from tests import candidates
from trainer.probe.report import Report
from trainer.worlds import catalog
from trainer.worlds.turtle import verifier

WORLD = "turtle"
TASK = catalog.tasks(WORLD, "train")[0]
STORY = "It was about something warm."
SAID = (1.0, 1.0, 0.5)
"""What the judge said of the story; by the rules it tells nothing."""
CHECKS = ("gold", "false_verdicts", "stored_verdicts")
LAXER = {"verifier.py": {"return best >= threshold - SLACK": "return best >= threshold - 0.2"}}
OTHER_WORDS = {"verifier.py": {"An agent was told the surface": "An agent knows the surface"}}


def run_with(folder: Path) -> Path:
    """A run that holds one episode which a judge has judged."""
    asked = verifier.question(TASK, STORY)
    assert asked is not None
    judged = {
        "question": asked.digest,
        "judge": "endpoint toy",
        "criteria": list(asked.criteria),
        "answer": list(SAID),
        "pinned": False,
    }
    episode = {
        "id": "000001-00",
        "task_id": TASK.id,
        "world": WORLD,
        "stop": "out_of_steps",
        "outcome": "finished",
        "success": 0.0,
        "reward": 0.85,
        "rewards": [],
        "turns": [{"speaker": "agent", "text": f"[answer] {STORY}", "agent_turn": 0}],
        "judged": [judged],
    }
    (folder / "episodes").mkdir(parents=True)
    (folder / "episodes" / "000001.jsonl").write_text(json.dumps(episode) + "\n")
    (folder / "run.yaml").write_text(f"config: {{name: stored, worlds: {{{WORLD}: {{}}}}}}\n")
    return folder


def probed(tmp_path: Path, edits: dict[str, dict[str, str]], **fields: Any) -> Report:
    run = run_with(tmp_path / "run")
    asked = candidates.request(tmp_path, WORLD, edits=edits, run=str(run), **fields)
    return candidates.probed(asked, *CHECKS)


def test_a_stored_verdict_is_found_again_by_what_the_judge_said_at_the_time(tmp_path: Path) -> None:
    report = probed(tmp_path, LAXER)
    (flip,) = [one for one in report.findings if one.rule == "probe.stored_verdicts"]
    assert flip.value == {"better": 1, "worse": 0}, (
        "40 + 30 + 15 of 100 reach .8, by no rule of ours"
    )


def test_a_cited_verdict_is_mended_by_what_the_judge_said_at_the_time(tmp_path: Path) -> None:
    cited = [{"episode": "000001-00", "should_be": 1.0}]
    report = probed(tmp_path, LAXER, false_verdicts=cited)
    assert candidates.errors(report, "false_verdicts") == []


def test_a_verifier_that_would_ask_in_other_words_is_told_to_be_unknown_and_dearer(
    tmp_path: Path,
) -> None:
    report = probed(tmp_path, OTHER_WORDS)
    (told,) = [one for one in report.findings if one.rule == "probe.stored_verdicts"]
    assert (told.value, told.severity) == (1, Severity.WARNING)
    assert "would ask a judge what is not on file about 1 of 1" in told.message


def test_a_cited_verdict_that_hangs_on_other_words_is_not_shown_to_be_mended(
    tmp_path: Path,
) -> None:
    cited = [{"episode": "000001-00", "should_be": 1.0}]
    report = probed(tmp_path, OTHER_WORDS, false_verdicts=cited)
    (refused,) = candidates.errors(report, "false_verdicts")
    assert "what no judge has answered" in refused.message
