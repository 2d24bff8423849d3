"""A run that was stopped or cut short goes on as if it had not been, and says what differed."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.contract import ledger
from gate.contract.ledger import RevisionKind
from gate.contract.paths import RunPaths
from tests import jobs, tiny_run
from tests.nursery import Nursery

STEPS = 10
"""Of the tiny run; it is saved after steps 3, 6, 9 and 10."""


@pytest.fixture
def run(seedling: Path, tmp_path: Path) -> RunPaths:
    return jobs.copy_run(seedling, tmp_path / "run")


@pytest.fixture(scope="module")
def whole(nursery: Nursery, seedling: Path, tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    """The run in one go."""
    run = jobs.copy_run(seedling, tmp_path_factory.mktemp("whole") / "run")
    go_on(nursery, run)
    assert len(tiny_run.told_steps(run)) == STEPS
    return run


def go_on(nursery: Nursery, run: RunPaths, **plan: object) -> str:
    child = nursery.run("resume", run.root, **plan)
    assert child.returncode == 0, child.told()
    return child.told()


def refused(nursery: Nursery, run: RunPaths) -> str:
    """Resume by the command, and return the one error that it tells."""
    child = nursery.run("command", "resume", run.root)
    assert child.returncode == 2, child.told()
    assert "Traceback" not in child.told()
    return child.told()


@pytest.mark.parametrize("stops", [(5,), (4, 7), (6,), (0, 9)])
def test_a_run_in_parts_equals_the_run_in_one_go(
    nursery: Nursery, run: RunPaths, whole: RunPaths, stops: tuple[int, ...]
) -> None:
    for stop in stops:
        go_on(nursery, run, stop_after=stop)
        assert len(tiny_run.told_steps(run)) == stop
        assert tiny_run.status(run)["phase"] == "stopped"
    go_on(nursery, run)
    assert tiny_run.told_steps(run) == tiny_run.told_steps(whole)
    assert tiny_run.events(run, "resume_difference") == []
    assert tiny_run.status(run)["phase"] == "finished"


def test_the_rates_of_a_cosine_go_on_where_they_were(
    nursery: Nursery, run: RunPaths, whole: RunPaths
) -> None:
    rates = [record["learner"]["actor_lr"] for record in tiny_run.told_steps(whole)]
    assert len(set(rates)) == STEPS and rates == sorted(rates, reverse=True)
    go_on(nursery, run, stop_after=6)
    go_on(nursery, run)
    assert [record["learner"]["actor_lr"] for record in tiny_run.told_steps(run)] == rates


def test_the_first_ratios_after_a_resume_are_one(nursery: Nursery, run: RunPaths) -> None:
    go_on(nursery, run, stop_after=5)
    go_on(nursery, run, stop_after=6)
    first = tiny_run.told_steps(run)[5]["learner"]
    assert abs(first["ratio_first_minibatch_max"] - 1) < 1e-5
    assert first["kl"] > 0, "the reference is the policy that the run began with"


@pytest.mark.parametrize("factor", [10, 100])
def test_a_rate_edited_while_the_run_was_down_wins_and_is_told(
    nursery: Nursery, run: RunPaths, whole: RunPaths, factor: int
) -> None:
    go_on(nursery, run, stop_after=5)
    jobs.save_knobs(run, "agent", {"actor_lr": 0.0001 * factor})
    said = go_on(nursery, run)
    assert f"knob agent.actor_lr: 0.0001 -> {0.0001 * factor}" in said
    assert ("large step" in said) == (factor > 10), "a jump by hand is allowed, but doubtful"
    mine, theirs = tiny_run.told_steps(run), tiny_run.told_steps(whole)
    assert mine[:5] == theirs[:5]
    for step in range(5, STEPS):
        ratio = mine[step]["learner"]["actor_lr"] / theirs[step]["learner"]["actor_lr"]
        assert ratio == pytest.approx(factor)
    assert mine[5]["params_digest"] != theirs[5]["params_digest"]
    (adopted,) = tiny_run.events(run, "knob_adopted")
    assert adopted["step"] == 6
    assert [change["path"] for change in adopted["detail"]["changes"]] == ["agent.actor_lr"]
    assert [one.kind for one in ledger.revisions(run.ledger)][1:] == [RevisionKind.DIRECT_EDIT]
    assert tiny_run.status(run)["in_force_since"] == {"agent.actor_lr": 6}


def cut(checkpoint: Path) -> None:
    part = checkpoint / "learner" / "actor.safetensors"
    part.write_bytes(part.read_bytes()[:1000])


def lose_a_part(checkpoint: Path) -> None:
    (checkpoint / "learner" / "critic_optimizer.safetensors").unlink()


def lose_the_marker(checkpoint: Path) -> None:
    (checkpoint / "manifest.json").unlink()


def change_a_byte(checkpoint: Path) -> None:
    part = checkpoint / "learner" / "random.safetensors"
    content = bytearray(part.read_bytes())
    content[-1] ^= 1
    part.write_bytes(content)


def become_a_file(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint)
    checkpoint.write_text("no folder")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (cut, "part learner/actor.safetensors has 1000 bytes instead of"),
        (lose_a_part, "part learner/critic_optimizer.safetensors is missing"),
        (lose_the_marker, "manifest.json is missing: it was never finished"),
        (change_a_byte, "part learner/random.safetensors was changed after it was written"),
        (become_a_file, "manifest.json cannot be read"),
    ],
)
def test_a_spoilt_checkpoint_is_told_and_the_one_before_is_used(
    nursery: Nursery,
    run: RunPaths,
    whole: RunPaths,
    spoil: Callable[[Path], None],
    reason: str,
) -> None:
    go_on(nursery, run, stop_after=8)
    before = run.steps.read_bytes()
    spoil(run.checkpoint(8))
    said = go_on(nursery, run)
    assert f"checkpoint step-000008 not used: {reason}" in said
    assert "from step 6; 2 steps on file are replayed and compared" in said
    (rejected,) = tiny_run.events(run, "checkpoint_rejected")
    assert rejected["detail"]["reason"].startswith(reason)
    assert tiny_run.events(run, "resume_difference") == []
    assert run.steps.read_bytes().startswith(before), "what is on file is evidence"
    assert tiny_run.told_steps(run) == tiny_run.told_steps(whole)


def test_without_a_whole_checkpoint_the_command_names_what_is_missing(
    nursery: Nursery, run: RunPaths
) -> None:
    go_on(nursery, run, stop_after=4)
    for checkpoint in run.checkpoints.iterdir():
        lose_a_part(checkpoint)
    steps = run.steps.read_bytes()
    said = refused(nursery, run)
    for name in ("step-000000", "step-000003", "step-000004", "critic_optimizer"):
        assert name in said
    assert run.steps.read_bytes() == steps


def test_a_manifest_that_leaves_a_part_out_is_refused_with_its_name(
    nursery: Nursery, run: RunPaths
) -> None:
    manifest = run.checkpoint(0) / "manifest.json"
    lines = manifest.read_text().replace("critic.safetensors", "other.safetensors")
    (run.checkpoint(0) / "learner" / "critic.safetensors").rename(
        run.checkpoint(0) / "learner" / "other.safetensors"
    )
    manifest.write_text(lines)
    assert "critic.safetensors" in refused(nursery, run)


def test_torn_last_lines_lose_nothing(nursery: Nursery, run: RunPaths, whole: RunPaths) -> None:
    go_on(nursery, run, edits={"2": {"user": {"max_reveals": 3}}}, stop_after=4)
    for path in (run.steps, run.events, run.ledger):
        with path.open("ab") as file:
            file.write(b'{"step":5,"kind":"inte')
    go_on(nursery, run, edits={"2": {"user": {"max_reveals": 3}}}, stop_after=7)
    go_on(nursery, run, edits={"7": {"user": {"max_reveals": 2}}})
    assert [record["step"] for record in tiny_run.told_steps(run)] == list(range(1, STEPS + 1))
    assert ledger.verify(run.ledger).ok
    assert tiny_run.events(run, "resume_difference") == []


def test_an_edited_ledger_is_refused(nursery: Nursery, run: RunPaths) -> None:
    go_on(nursery, run, edits={"1": {"user": {"max_reveals": 3}}}, stop_after=2)
    content = run.ledger.read_bytes()
    run.ledger.write_bytes(content.replace(b'"new":3', b'"new":4'))
    assert "does not follow from the line before" in refused(nursery, run)


def test_a_ledger_that_lost_a_revision_in_force_is_refused(nursery: Nursery, run: RunPaths) -> None:
    go_on(nursery, run, edits={"2": {"user": {"max_reveals": 3}}}, stop_after=2)
    first = run.ledger.read_bytes().split(b"\n")[0]
    run.ledger.write_bytes(first + b"\n")
    assert "ran under revision 1, which ledger.jsonl does not hold" in refused(nursery, run)


def test_lost_step_records_are_refused(nursery: Nursery, run: RunPaths) -> None:
    go_on(nursery, run, stop_after=5)
    lines = run.steps.read_bytes().split(b"\n")
    run.steps.write_bytes(b"\n".join(lines[:2]) + b"\n")
    assert "goes on from step 5" in refused(nursery, run)


def test_a_replay_tells_nothing_twice(nursery: Nursery, run: RunPaths) -> None:
    plan = {"edits": {"2": {"agent": {"gae_lambda": 0.9}}}}
    go_on(nursery, run, stop_after=5, **plan)
    told = tiny_run.events(run)
    shutil.rmtree(run.checkpoint(5))
    shutil.rmtree(run.checkpoint(3))
    go_on(nursery, run, stop_after=5, **plan)
    new = [event["kind"] for event in tiny_run.events(run)[len(told) :]]
    assert new == ["run_resumed", "checkpoint", "checkpoint", "run_finished"]


def test_a_finished_run_goes_on_when_its_end_is_moved(nursery: Nursery, run: RunPaths) -> None:
    jobs.save_knobs(run, "agent", {"total_steps": 3})
    go_on(nursery, run)
    assert len(tiny_run.told_steps(run)) == 3
    assert tiny_run.status(run)["phase"] == "stopped"
    jobs.save_knobs(run, "agent", {"total_steps": 5})
    go_on(nursery, run)
    assert len(tiny_run.told_steps(run)) == 5


def test_an_end_below_the_present_step_is_a_clean_stop(nursery: Nursery, run: RunPaths) -> None:
    go_on(nursery, run, edits={"5": {"agent": {"total_steps": 2}}})
    assert len(tiny_run.told_steps(run)) == 4
    assert tiny_run.status(run)["phase"] == "stopped"
    assert (run.checkpoint(4) / "manifest.json").is_file()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_clean_stop(
    nursery: Nursery, run: RunPaths, whole: RunPaths, number: signal.Signals
) -> None:
    child = nursery.begin("resume", run.root)
    while not run.steps.exists() and not child.ended():
        time.sleep(0.01)
    child.kill(number)
    assert child.wait() == 0, child.told()
    done = len(tiny_run.told_steps(run))
    assert tiny_run.status(run)["phase"] == "stopped"
    assert (run.checkpoint(done) / "manifest.json").is_file()
    assert tiny_run.alive(run.root) == []
    go_on(nursery, run)
    assert tiny_run.told_steps(run) == tiny_run.told_steps(whole)


def test_a_run_has_one_trainer(nursery: Nursery, run: RunPaths, whole: RunPaths) -> None:
    child = nursery.begin("resume", run.root)
    while not run.steps.exists() and not child.ended():
        time.sleep(0.01)
    child.kill(signal.SIGSTOP)
    try:
        assert "is being trained by another process" in refused(nursery, run)
    finally:
        child.kill(signal.SIGCONT)
    assert child.wait() == 0, child.told()
    assert tiny_run.told_steps(run) == tiny_run.told_steps(whole)


def test_what_a_killed_process_left_half_written_is_cleared(
    nursery: Nursery, run: RunPaths
) -> None:
    leftovers = (
        run.root / ".status.json.4242.tmp",
        run.episodes / ".000001.jsonl.4242.tmp",
        run.checkpoints / ".step-000003.partial" / "learner",
    )
    for path in leftovers:
        path.mkdir(parents=True) if path.suffix != ".tmp" else path.write_bytes(b"half")
    go_on(nursery, run, stop_after=1)
    assert not any(path.exists() for path in leftovers)
    assert list(run.checkpoints.glob(".*")) == []
