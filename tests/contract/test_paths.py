"""Every file of a run has one name, and no path leads out of its root."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract.paths import OutsideRoot, RunPaths, inside


def test_the_names_are_those_of_the_file_protocol() -> None:
    run = RunPaths(Path("runs/a"))
    found = {
        str(path.relative_to(run.root))
        for path in (
            run.launch,
            run.status,
            run.knobs,
            run.world,
            run.candidate,
            run.proposals,
            run.experiments,
            run.ledger,
            run.steps,
            run.events,
            run.episodes,
            run.checkpoints,
            run.supervisor,
            run.staging,
        )
    }
    assert found == {
        "run.yaml",
        "status.json",
        "knobs",
        "world",
        "candidate",
        "proposals",
        "experiments",
        "ledger.jsonl",
        "steps.jsonl",
        "events.jsonl",
        "episodes",
        "checkpoints",
        "supervisor",
        ".staging",
    }
    assert run.knob_file("user") == run.root / "knobs/user.yaml"
    assert run.episodes_of(12) == run.root / "episodes/000012.jsonl"
    assert run.checkpoint(12) == run.root / "checkpoints/step-000012"
    assert run.proposal(3) == run.root / "proposals/0003.yaml"
    assert run.report(3) == run.root / "proposals/0003.report.json"


@pytest.mark.parametrize("path", ["knobs/user.yaml", "knobs/../knobs/user.yaml", "not/there/yet"])
def test_a_path_inside_its_root_is_resolved(tmp_path: Path, path: str) -> None:
    assert inside(tmp_path, path).is_relative_to(tmp_path.resolve())


@pytest.mark.parametrize("path", ["..", "../other", "/etc/passwd", "knobs/../../x", "link/passwd"])
def test_a_path_that_leads_out_of_its_root_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(OutsideRoot, match="name a path inside it"):
        inside(tmp_path, path)
