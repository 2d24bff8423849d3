"""With fewer fences or more, as root or not, a program is held, labelled or refused.

A sandbox that is broken is a fault with a next step, and never a result.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trainer.worlds.sandbox.attacks import CHECKOUT, FORK_BOMB, SHORT, SOUND, run
from trainer.worlds.sandbox import client, warden
from trainer.worlds.sandbox.client import Sandbox
from trainer.worlds.sandbox.program import CallResult, Outcome, Program, SandboxError

ONE_FENCE_LESS = """
import sys
sys.path += {roots!r}
from trainer.worlds.sandbox import syscalls, warden
syscalls.ARCHITECTURES = {{}}
warden.main()
"""


@pytest.fixture
def unfenced() -> Iterator[Sandbox]:
    """A warden on a machine whose system calls nobody knows."""
    command = warden.command(sys.executable, [])
    command[-1] = ONE_FENCE_LESS.format(roots=[str(CHECKOUT)])
    sandbox = client.launch(command)
    yield sandbox
    sandbox.close()


def test_without_a_fence_the_result_is_labelled(unfenced: Sandbox) -> None:
    evaluation = unfenced.evaluate(SOUND)
    assert evaluation.results[0].value == 2
    assert not evaluation.sandboxed


def test_without_a_fence_a_program_may_refuse_to_run(unfenced: Sandbox) -> None:
    with pytest.raises(SandboxError, match="no system-call filter"):
        unfenced.evaluate(Program("def f(): pass", ("f()",), refuse_unsandboxed=True))


def test_without_a_fence_limits_and_another_user_still_hold(
    unfenced: Sandbox, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    source = f"""
import os, socket
def forks(): return os.fork()
def writes(): open({str(tmp_path / "x")!r}, 'w')
def dials(): socket.create_connection(('1.1.1.1', 80), timeout=0.2)
def fills():
    with open('big', 'wb') as file: file.write(b'x' * (1 << 22))
"""
    program = Program(source, ("forks()", "writes()", "dials()", "fills()"), bounds=SHORT)
    results = unfenced.evaluate(program).results
    assert all(result.outcome in (Outcome.RAISED, Outcome.DIED) for result in results), results


def public_python() -> str | None:
    """An interpreter outside root's home; the sandbox needs nothing but the standard library."""
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        with contextlib.suppress(OSError):
            nobody = {"user": 65_533, "group": 65_533, "extra_groups": []}
            if subprocess.run([python, "-c", check], check=False, **nobody).returncode == 0:
                return python
    return None


def test_another_user_is_fenced_in_the_same_way() -> None:
    if os.geteuid() != 0:
        pytest.skip("the suite does not run as root, so every other test shows this")
    python = public_python()
    if python is None:
        pytest.skip("no Python of 3.11 or later that another user may start")
    script = (
        "import os\n"
        "from trainer.worlds.sandbox import client\n"
        "from trainer.worlds.sandbox.program import *\n"
        f"program = Program({FORK_BOMB!r}, ('f()', 'h()', 'os.getuid()', 'open(\"x\", \"w\")'))\n"
        "evaluation = client.shared().evaluate(program)\n"
        "print(evaluation.sandboxed, [r.value or r.detail for r in evaluation.results])\n"
    )
    done = subprocess.run(
        [python, "-B", "-c", script],
        cwd=CHECKOUT,
        user=65_533,
        group=65_533,
        extra_groups=[],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "True ['PermissionError', 1, 65533, 'PermissionError']", done


def test_bubblewrap_stands_around_the_warden_where_it_is_installed() -> None:
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        pytest.skip("bwrap is not installed")
    wrapped = client.start(bubblewrap=bubblewrap)
    try:
        assert Path(f"/proc/{wrapped.pid}/exe").resolve().name == "bwrap"
        assert run(wrapped, SOUND.source, *SOUND.calls) == [CallResult(Outcome.VALUE, 2)]
    finally:
        wrapped.close()


def test_bubblewrap_that_cannot_start_is_done_without() -> None:
    bare = client.start(bubblewrap=shutil.which("false"))
    try:
        assert bare.evaluate(SOUND).results == (CallResult(Outcome.VALUE, 2),)
    finally:
        bare.close()


def test_a_warden_that_is_gone_is_a_fault_and_no_result() -> None:
    own = client.start()
    own.close()
    with pytest.raises(SandboxError, match="gone away"):
        own.evaluate(SOUND)


def test_an_interpreter_that_is_missing_is_told() -> None:
    with pytest.raises(SandboxError, match="cannot be started"):
        client.launch(["/nowhere/python"])
    with pytest.raises(SandboxError, match="did not start"):
        client.launch([sys.executable, "-c", "pass"])


def test_nonsense_at_the_door_harms_nobody() -> None:
    own = client.start()
    try:
        own.door.send(b"let me in")
        assert own.evaluate(SOUND).results == (CallResult(Outcome.VALUE, 2),)
    finally:
        own.close()


def test_a_warden_ends_though_a_fork_still_holds_the_door() -> None:
    own = client.start()
    fork = subprocess.Popen(["sleep", "60"], pass_fds=[own.door.fileno()])
    try:
        own.close()
        assert not Path(f"/proc/{own.pid}").exists()
    finally:
        fork.kill()
        fork.wait()
