"""An edited verifier keeps gold verdicts, mends the cited one, and its other flips are counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests import candidates
from trainer.probe.report import Report
from trainer.worlds import catalog

WORLD = "search"
TASK = catalog.tasks(WORLD, "train")[0]
ANSWER = str(TASK.payload["answers"][0])
OLD = "any(words == normalised(answer) for answer in answers)"
MENDED = "any(words in (normalised(answer), (*normalised(answer), 'town')) for answer in answers)"
LAX = "any(set(normalised(answer)) & set(words) for answer in answers)"
CITED = [{"episode": "000001-00", "should_be": 1.0}]
CHECKS = ("gold", "false_verdicts", "stored_verdicts")


def run_with(folder: Path, answers: list[str]) -> Path:
    """A run whose stored episodes each gave one answer to the same task."""
    (folder / "episodes").mkdir(parents=True)
    lines = [
        json.dumps(
            {
                "id": f"000001-{index:02d}",
                "task_id": TASK.id,
                "world": WORLD,
                "stop": "failed",
                "outcome": "finished",
                "success": 0.0,
                "reward": 0.0,
                "rewards": [],
                "turns": [
                    {"speaker": "system", "text": "Rules.", "agent_turn": 0},
                    {"speaker": "user", "text": TASK.opening, "agent_turn": 0},
                    {"speaker": "agent", "text": f"[answer] {answer}", "agent_turn": 0},
                ],
            }
        )
        for index, answer in enumerate(answers)
    ]
    (folder / "episodes" / "000001.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "run.yaml").write_text(f"config: {{name: stored, worlds: {{{WORLD}: {{}}}}}}\n")
    return folder


def edited(old: str, new: str) -> dict[str, dict[str, str]]:
    return {"verifier.py": {old: new}}


def probed(tmp_path: Path, new: str, answers: list[str], **fields: Any) -> Report:
    run = run_with(tmp_path / "run", answers)
    asked = candidates.request(tmp_path, WORLD, edits=edited(OLD, new), run=str(run), **fields)
    return candidates.probed(asked, *CHECKS)


def test_an_edit_that_mends_the_cited_verdict_and_keeps_the_gold_passes(tmp_path: Path) -> None:
    answers = [f"{ANSWER} town", "nowhere"]
    report = probed(tmp_path, MENDED, answers, false_verdicts=CITED)
    assert not report.findings
    assert report.measured == {
        "gold": {WORLD: 0.0},
        "false_verdicts": {WORLD: 0.0},
        "stored_verdicts": {WORLD: 0.0},
    }


def test_an_edit_that_loses_gold_verdicts_is_refused_with_their_number(tmp_path: Path) -> None:
    (lost,) = candidates.errors(probed(tmp_path, LAX, ["nowhere"]), "gold")
    assert isinstance(lost.value, int) and lost.value >= 1
    assert lost.limit == 0


def test_an_edit_that_does_not_mend_the_cited_verdict_is_refused(tmp_path: Path) -> None:
    report = probed(tmp_path, f"bool({OLD})", [f"{ANSWER} town"], false_verdicts=CITED)
    (unmended,) = candidates.errors(report, "false_verdicts")
    assert (unmended.value, unmended.limit) == (0.0, 1.0)


def test_an_episode_that_is_not_there_cannot_be_cited(tmp_path: Path) -> None:
    missing = [{"episode": "000009-09", "should_be": 1.0}]
    report = probed(tmp_path, MENDED, ["nowhere"], false_verdicts=missing)
    (unknown,) = candidates.errors(report, "false_verdicts")
    assert unknown.value == "000009-09"


def test_other_verdicts_that_flip_are_told_each_way(tmp_path: Path) -> None:
    answers = [f"{ANSWER} town", f"the {ANSWER} town", ANSWER, "nowhere"]
    strange = "any(words == (*normalised(answer), 'town') for answer in answers)"
    report = probed(tmp_path, strange, answers, false_verdicts=CITED)
    (flips,) = [one for one in report.findings if one.rule == "probe.stored_verdicts"]
    assert flips.value == {"better": 1, "worse": 1}
    assert report.measured["stored_verdicts"] == {WORLD: round(2 / 3, 6)}


def test_a_verifier_that_hangs_costs_its_deadline(tmp_path: Path) -> None:
    endless = "[None for _ in iter(int, 1)]"
    report = probed(tmp_path, endless, ["nowhere"], seconds=3)
    assert candidates.errors(report, "world_fault")
