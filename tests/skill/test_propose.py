"""`propose` asks the gate first, submits what passes, and says what to do about the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gate.contract import proposal_reading, proposals
from gate.contract.paths import RunPaths
from skill import proposing
from skill.commands import propose
from skill.proposing import Wish
from tests import live_run, proposed

WHY = ["--why", "users repeat themselves", "--step", "3", "--author", "claude"]


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    made = live_run.launch(tmp_path / "run")
    proposed.log_steps(made, 5)
    proposed.record_launch(made)
    return made


def ask(run: RunPaths, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, Any]:
    status = propose.main([str(run.root), "--json", *flags])
    return status, json.loads(capsys.readouterr().out)


def load(run: RunPaths, number: int) -> proposals.Proposal:
    return proposal_reading.load(run, number, worlds=live_run.WORLDS)


def test_flags_become_a_proposal_that_the_gate_reads_back(
    run: RunPaths, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--set", "agent.entropy_coeff=0.003", "--expect", "learner.entropy:down:0.1"]
    status, told = ask(run, capsys, *WHY, *flags, "--episode", "000002-00", "--concurrent")
    assert (status, told["passed"], told["submitted"], told["proposal"]) == (0, True, True, 1)
    found = load(run, 1)
    assert dict(found.changes or {}) == {"agent.entropy_coeff": 0.003}
    assert (found.steps, found.episodes, found.concurrent) == ((3,), ("000002-00",), True)
    assert (found.expected.metric, found.expected.size) == ("learner.entropy", 0.1)
    assert found.window == 40  # twice the knob's lag


def test_what_the_gate_would_refuse_is_not_submitted(
    run: RunPaths, capsys: pytest.CaptureFixture[str]
) -> None:
    status, told = ask(run, capsys, *WHY, "--set", "environment.max_steps=5")
    assert (status, told["submitted"], told["proposal"]) == (1, False, None)
    assert [one["rule"] for one in told["findings"]] == ["rules.step-size"]
    assert proposals.names(run) == []


def test_a_candidate_file_says_what_to_change(
    run: RunPaths, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run.candidate / "knobs"
    folder.mkdir(parents=True)
    edited = live_run.with_value(run.knob_file("agent").read_bytes(), "entropy_coeff", 0.003)
    (folder / "agent.yaml").write_bytes(edited)
    status, told = ask(run, capsys, *WHY, "--candidate")
    assert status == 0 and load(run, 1).changes is None
    assert [change["path"] for change in told["changes"]] == ["agent.entropy_coeff"]


def test_a_dry_run_asks_and_leaves_nothing(
    run: RunPaths, capsys: pytest.CaptureFixture[str]
) -> None:
    status, told = ask(run, capsys, *WHY, "--set", "agent.entropy_coeff=0.003", "--dry-run")
    assert (status, told["submitted"]) == (0, False)
    assert proposals.names(run) == []


def test_a_tick_that_may_only_propose_leaves_a_draft_and_one_that_watches_nothing(
    run: RunPaths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(proposing.AUTONOMY, "propose")
    status, told = ask(run, capsys, *WHY, "--set", "agent.entropy_coeff=0.003")
    assert (status, told["draft"], proposals.names(run)) == (0, True, ["0001.draft.yaml"])
    for level in ("watch", "a level nobody knows"):
        monkeypatch.setenv(proposing.AUTONOMY, level)
        assert propose.main([str(run.root), *WHY, "--set", "agent.entropy_coeff=0.003"]) == 1
        assert "only watches" in capsys.readouterr().err
    assert proposals.names(run) == ["0001.draft.yaml"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (WHY, "nothing to propose"),
        (["--set", "agent.entropy_coeff=0.003", "--step", "3"], "--why says what was seen"),
        (["--set", "agent.entropy_coeff=0.003", "--why", "because"], "cite what shows it"),
        ([*WHY, "--set", "agent.entropy_coeff"], "is not PATH=VALUE"),
        ([*WHY, "--set", "agent.entropy_coeff=0.003", "--candidate"], "give one of them"),
        (
            [*WHY, "--set", "agent.entropy_coeff=0.003", "--expect", "success"],
            "METRIC:up|down:SIZE",
        ),
        (["--set", "agent.entropy_coeff=0.003", "--symptom", "boredom"], "no symptom 'boredom'"),
    ],
)
def test_a_wish_that_is_not_whole_is_misuse(
    run: RunPaths, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        propose.main([str(run.root), *flags])
    assert ended.value.code == 2 and said in capsys.readouterr().err
    assert proposals.names(run) == []


def test_brackets_by_the_thousand_are_refused_by_the_gate(
    run: RunPaths, capsys: pytest.CaptureFixture[str]
) -> None:
    assert propose.main([str(run.root), *WHY, "--set", f"reward.shaping={'[' * 3000}"]) == 1
    assert "reward.shaping is" in capsys.readouterr().out
    assert proposals.names(run) == []


def test_words_that_look_like_yaml_stay_words(run: RunPaths) -> None:
    why = 'changes: {user.max_reveals: 9}\n# end of proposal\n"\\ : - *x &y'
    content = proposing.render(Wish(why=why, author="a: b", changes={"user.max_reveals": 3}))
    found = proposal_reading.read(1, content, worlds=live_run.WORLDS)
    assert (found.why, found.author) == (why, "a: b")
    assert dict(found.changes or {}) == {"user.max_reveals": 3}
    hidden = proposing.render(Wish(why="a\u202eb\x1b[2J", author="x", changes={}))
    assert b"a\\\\u202eb\\\\x1b[2J" in hidden


@pytest.mark.parametrize(("folder", "passed"), [("none", True), ("travel", False)])
def test_an_evaluation_that_a_fence_hides_is_left_to_the_trainers_gate(
    run: RunPaths, folder: str, passed: bool
) -> None:
    """A folder that is not there from here stands for one that a fence hides."""
    recorded = run.launch.read_text("utf-8")
    name = f"  trainer/worlds/{folder}/evaluation:"
    kept = [line for line in recorded.splitlines() if not line.startswith(name)]
    kept.insert(kept.index("protected:") + 1, f"{name} {'0' * 64}")
    run.launch.write_text("\n".join(kept), "utf-8")
    wish = Wish("users repeat", "claude", {"user.max_reveals": 3}, steps=(3,))
    found = proposing.check(run, proposing.render(wish))
    assert found.passed is passed
    (told,) = (one for one in found.findings if one["path"].endswith("/evaluation"))
    assert (told["rule"], told["severity"]) == ("rules.protected", "warning" if passed else "error")
