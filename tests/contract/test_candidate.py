"""A candidate says what it would change, and whatever lies in a file's place is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gate.contract import candidate, knobs
from gate.contract.findings import Refused
from gate.contract.knobs import ABSENT, KnobChange
from gate.contract.paths import RunPaths
from tests import live_run

CURRENT = knobs.apply(knobs.defaults(), [KnobChange("user.worlds.travel.max_reveals", ABSENT, 1)])


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    (tmp_path / candidate.FOLDER).mkdir(parents=True)
    return RunPaths(tmp_path)


def file(run: RunPaths, name: str) -> Path:
    return run.root / candidate.FOLDER / f"{name}.yaml"


def test_only_files_that_are_there_count(run: RunPaths) -> None:
    assert candidate.changes(run, CURRENT, worlds=live_run.WORLDS) == ()
    content = live_run.starting_files()["knobs/user.yaml"]
    file(run, "user").write_bytes(live_run.with_value(content, "match_threshold", 0.5))
    assert candidate.changes(run, CURRENT, worlds=live_run.WORLDS) == (
        KnobChange("user.match_threshold", 0.6, 0.5),
        KnobChange("user.worlds.travel.max_reveals", 1, ABSENT),
    )


def test_every_fault_of_every_file_is_told_with_its_place(run: RunPaths) -> None:
    content = live_run.starting_files()["knobs/user.yaml"]
    file(run, "user").write_bytes(live_run.with_value(content, "match_threshold", 7))
    os.mkfifo(file(run, "reward"))
    file(run, "agent").symlink_to(run.root / "elsewhere")
    with pytest.raises(Refused) as caught:
        candidate.changes(run, CURRENT, worlds=live_run.WORLDS)
    user, reward, agent = caught.value.findings
    assert (user.rule, user.file) == ("knobs.range", "candidate/knobs/user.yaml")
    assert user.line is not None
    assert {reward.rule, agent.rule} == {"candidate.unreadable"}
    assert "Copy knobs/reward.yaml" in reward.next_step


def test_a_folder_that_leads_out_of_the_run_is_refused(
    run: RunPaths, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (run.root / candidate.FOLDER).rmdir()
    (run.root / candidate.FOLDER).symlink_to(tmp_path_factory.mktemp("outside"))
    with pytest.raises(Refused) as caught:
        candidate.changes(run, CURRENT, worlds=live_run.WORLDS)
    assert {finding.rule for finding in caught.value.findings} == {"candidate.link"}
