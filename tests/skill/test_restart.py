"""A restart is asked for by a file, with a named fault and its records, within a budget of five."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gate.contract import proposals, restarts
from gate.contract.findings import Refused
from gate.contract.paths import RunPaths
from gate.contract.restarts import Fault, RestartRequest
from skill import proposing
from skill.commands import restart
from tests import live_run, proposed

ASK = ["--fault", "policy_collapsed", "--because", "one reply to all", "--step", "3"]


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    made = live_run.launch(tmp_path / "runs" / "a")
    proposed.log_steps(made, 5)
    proposed.record_launch(made)
    return made


def test_a_request_is_a_file_that_reads_back(
    run: RunPaths, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [*ASK, "--episode", "000002-00", "--set", "learner.bootstrap_truncated=false"]
    assert restart.main([str(run.root), "--json", *flags]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["launch"], told["launches_left"], told["request"]) == (1, 4, 1)
    (request,) = restarts.read(run)
    assert request.fault is Fault.POLICY_COLLAPSED and request.steps == (3,)
    assert dict(request.sets) == {"learner.bootstrap_truncated": False}
    assert proposals.next_number(run) == 2
    restart.main([str(run.root), "--json", "--budget"])
    assert json.loads(capsys.readouterr().out)["asked_before"] == ["policy_collapsed"]


def test_a_fault_without_a_name_or_a_record_is_misuse(run: RunPaths) -> None:
    for flags in (["--because", "x"], ASK[:4], ["--fault", "boredom"]):
        with pytest.raises(SystemExit) as ended:
            restart.main([str(run.root), *flags])
        assert ended.value.code == 2
    assert restart.main([str(run.root), *ASK[:4], "--step", "99"]) == 1
    assert restarts.read(run) == ()


def test_the_fifth_launch_may_not_ask_for_a_sixth(
    run: RunPaths, capsys: pytest.CaptureFixture[str]
) -> None:
    proposed.record_launch(run, parent="gone", attempt=5)
    assert restart.main([str(run.root), *ASK]) == 1
    assert "launch 5 of 5" in capsys.readouterr().err
    assert restarts.read(run) == ()


def test_a_tick_that_watches_asks_for_nothing(
    run: RunPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(proposing.AUTONOMY, "watch")
    assert restart.main([str(run.root), *ASK]) == 1
    assert restarts.read(run) == ()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"fault": "boredom"}',
        b'{"fault": "policy_collapsed", "because": "", "author": "x", "evidence": {}}',
        b'{"fault": "policy_collapsed", "because": "x", "author": "x",'
        b' "evidence": {"steps": [], "episodes": []}}',
        b'{"fault": "policy_collapsed", "because": "x", "author": "x",'
        b' "evidence": {"steps": [true], "episodes": []}}',
        b"[" * 20000,
    ],
)
def test_what_is_no_request_is_refused_and_passed_over(run: RunPaths, content: bytes) -> None:
    with pytest.raises(Refused):
        restarts.parse(1, content)
    run.proposals.mkdir()
    run.restart(1).write_bytes(content)
    run.restart(2).symlink_to(run.ledger)
    good = RestartRequest(Fault.RECORDS_DAMAGED, "the ledger broke", "codex", episodes=("a",))
    assert restarts.submit(run, good) == 3
    assert [request.number for request in restarts.read(run)] == [3]
