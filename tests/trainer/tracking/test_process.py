"""A follower's process comes to its end: by its run, by its tether, by a signal, or by a clock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock

from gate.contract.paths import RunPaths
from tests.trainer.looking.mended_run import LAST
from tests.trainer.tracking import fake_trackers
from tests.trainer.tracking.fake_trackers import Broken, Keeper
from trainer.errors import Unusable
from trainer.looking.reading import Reader
from trainer.tracking import process
from trainer.tracking.process import Tether, TrackerFailed, without_secrets


def python(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=120
    )


def test_a_finished_run_is_followed_to_its_end(run: RunPaths, folder: Path) -> None:
    run.status.write_text('{"phase": "finished"}')
    followed = process.follow(run, Keeper, folder)
    assert followed == (LAST, "the run is finished")
    assert len(fake_trackers.kept(folder)) == LAST


def test_two_followers_of_one_tracker_are_one_too_many(
    run: RunPaths, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LOCK_S", 0.05)
    with (
        FileLock(folder / ".lock", is_singleton=False),
        pytest.raises(Unusable, match="another process follows this run into tensorboard"),
    ):
        process.follow(run, Keeper, folder)
    assert fake_trackers.kept(folder) == []


def test_what_a_tracker_raises_is_told_without_secrets(
    run: RunPaths, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sesame")
    run.status.write_text('{"phase": "finished"}')
    with pytest.raises(TrackerFailed) as caught:
        process.follow(run, Broken, folder)
    assert "ConnectionError: key <SOME_API_KEY> was refused" in str(caught.value)
    assert "sesame" not in str(caught.value) and caught.value.__cause__ is None


def test_only_values_of_secret_variables_are_taken_out() -> None:
    environment = {"WANDB_API_KEY": "abc", "HF_TOKEN": "", "db_password": "def", "HOME": "ghi"}
    assert without_secrets("abc def ghi", environment) == "<WANDB_API_KEY> <db_password> ghi"


def test_somebody_may_ask_a_follower_to_end(run: RunPaths, folder: Path) -> None:
    # The run is on record as training, by this very process, a moment ago.
    run.status.write_text(
        f'{{"phase": "training", "pid": {os.getpid()}, "heartbeat": {time.time()}}}'
    )
    text = (
        "import sys; from pathlib import Path; from gate.contract.paths import RunPaths;"
        "from trainer.tracking import process;"
        "from tests.trainer.tracking.fake_trackers import Keeper;"
        f"print(process.follow(RunPaths(Path({str(run.root)!r})), Keeper, Path({str(folder)!r})))"
    )
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as child:
        while len(fake_trackers.kept(folder)) < LAST:
            assert child.poll() is None
            time.sleep(0.02)
        child.send_signal(signal.SIGTERM)
        told, _ = child.communicate(timeout=60)
    assert (child.returncode, told.strip()) == (
        0,
        f"Followed(step={LAST}, because='somebody asked to end')",
    )


def test_a_tether_holds_until_the_other_end_lets_go(recorded: RunPaths) -> None:
    reading = Reader(recorded).read()
    mine, other = os.pipe()
    try:
        tether = Tether(os.getppid(), mine)
        assert tether.over(reading) is None
        os.close(other)
        tether.wait()
        assert tether.over(reading) == "the run is over"
        assert Tether(os.getpid(), mine).over(reading) == "the trainer is gone"
    finally:
        os.close(mine)


def test_a_call_that_does_not_come_back_ends_the_process_with_its_stack() -> None:
    ended = python(
        "import signal, time\n"
        "from trainer.tracking.process import bound\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "with bound(0.2):\n"
        "    time.sleep(60)\n"
        "print('came back')\n"
    )
    assert ended.returncode == 1 and ended.stdout == ""
    assert "Timeout (0:00:00.2" in ended.stderr and "line 5 in <module>" in ended.stderr


def test_a_call_that_comes_back_in_time_costs_nothing() -> None:
    ended = python(
        "import time\n"
        "from trainer.tracking.process import bound\n"
        "with bound(0.1):\n"
        "    pass\n"
        "time.sleep(0.3)\n"
        "print('still here')\n"
    )
    assert (ended.returncode, ended.stdout) == (0, "still here\n")


def test_a_follower_beside_a_run_stands_back_and_no_file_of_it_grows_without_end(
    tmp_path: Path,
) -> None:
    ended = python(
        "import os\n"
        "from trainer.tracking.process import NICENESS, stand_back\n"
        "before = os.nice(0)\n"
        "stand_back(4096)\n"
        "print(os.nice(0) - before == NICENESS or os.nice(0) == 19)\n"
        f"open({str(tmp_path / 'flood')!r}, 'wb', buffering=0).write(b'x' * 4096)\n"
        f"open({str(tmp_path / 'flood')!r}, 'ab', buffering=0).write(b'x')\n"
    )
    assert ended.stdout == "True\n" and "File too large" in ended.stderr
    assert (tmp_path / "flood").stat().st_size == 4096
