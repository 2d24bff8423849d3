"""Jobs of several ranks as a test starts them: a launcher, its environment, and what it printed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
LIMIT_S = 900

needs_deepspeed = pytest.mark.skipif(
    importlib.util.find_spec("deepspeed") is None,
    reason="needs the extra `deepspeed`; `make test-scale` installs it into .venv-scale",
)


def torchrun(ranks: int, *arguments: str | Path) -> list[str]:
    """Return the command of a job under torchrun; any free port will do."""
    told = [str(argument) for argument in arguments]
    return [*python(), "-m", "torch.distributed.run", f"--nproc_per_node={ranks}",
            "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", *told]  # fmt: skip


def deepspeed(ranks: int, *arguments: str | Path) -> list[str]:
    """Return the command of a job under DeepSpeed's launcher."""
    told = [str(argument) for argument in arguments]
    launcher = ["-m", "deepspeed.launcher.runner", f"--num_gpus={ranks}"]
    return [*python(), *launcher, f"--master_port={29000 + os.getpid() % 2000}", *told]


def python() -> list[str]:
    """Return the interpreter; what torch is about to rename is no news to a test."""
    return [sys.executable, "-W", "ignore::FutureWarning"]


def environment() -> dict[str, str]:
    """Return an environment in which ranks find the checkout and keep to one thread."""
    quiet = {
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "HF_HUB_OFFLINE": "1",
        "DS_ACCELERATOR": "cpu",
        "PYTHONPATH": str(CHECKOUT),
    }
    kept = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
    return kept | quiet


def run(command: Sequence[str], *, folder: Path) -> str:
    """Run a job to its end and return what it printed; a job that fails fails the test."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def start(command: Sequence[str], *, folder: Path) -> subprocess.Popen[bytes]:
    """Start a job and do not wait for it; what it prints goes to `jobs.log` of the folder."""
    with (folder / "jobs.log").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, env=environment(), stdout=log, stderr=log)


def wait_for(condition: Callable[[], bool], job: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until something holds, while the job lives."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        assert job is None or job.poll() is None, f"the job ended with {job and job.returncode}"
        time.sleep(0.02)


def ranks_of(folder: Path) -> dict[int, int]:
    """Return the process of each living rank of a folder's runs."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        try:
            command, environ = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        told = dict(pair.split(b"=", 1) for pair in environ.split(b"\0") if b"=" in pair)
        # Worlds' processes inherit the environment of their rank, but not its command.
        if b"RANK" in told and b"\0trainer\0" in command and str(folder).encode() in command:
            found[int(told[b"RANK"])] = int(entry.name)
    return found
