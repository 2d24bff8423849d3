"""Whatever hostile code tries, it costs its own calls and nothing else; the next program runs.

Every test runs as whoever runs the suite, root or not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trainer.worlds.sandbox.attacks import CHECKOUT, FORK_BOMB, SOUND, run
from trainer.worlds.sandbox import client
from trainer.worlds.sandbox.client import Sandbox
from trainer.worlds.sandbox.program import (
    Bounds,
    CallResult,
    Namespace,
    Outcome,
    Program,
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A warden without bubblewrap: what is shown here holds wherever that is missing."""
    sandbox = client.start()
    yield sandbox
    sandbox.close()


@pytest.fixture(autouse=True)
def the_next_program_runs(sandbox: Sandbox) -> Iterator[None]:
    """After every attack the sandbox still computes, and no process of the attack is left."""
    yield
    assert sandbox.evaluate(SOUND).results == (CallResult(Outcome.VALUE, 2),)
    give_up = time.monotonic() + 5
    while (left := supervisors(sandbox)) and time.monotonic() < give_up:
        time.sleep(0.01)
    assert not left


def supervisors(sandbox: Sandbox) -> str:
    """The warden's children by id, none once every program has ended."""
    return Path(f"/proc/{sandbox.pid}/task/{sandbox.pid}/children").read_text().strip()


def outcomes(sandbox: Sandbox, source: str, *calls: str) -> list[Outcome]:
    return [result.outcome for result in run(sandbox, source, *calls)]


def test_a_fork_bomb_starts_no_process(sandbox: Sandbox) -> None:
    results = run(sandbox, FORK_BOMB, "f()", "g()", "h()")
    assert [result.outcome for result in results[:2]] == [Outcome.RAISED] * 2
    assert results[2].value == 1, "the kernel says `not permitted`"


def test_a_memory_bomb_raises_or_ends_its_own_call(sandbox: Sandbox) -> None:
    source = (
        "def f():\n    return len([0] * 10**10)\n"
        "def g():\n    x = []\n    while True:\n        x.append(bytearray(1 << 24))"
    )
    assert outcomes(sandbox, source, "f()", "g()", "1") == [Outcome.RAISED] * 2 + [Outcome.VALUE]


def test_an_endless_loop_that_catches_everything_is_ended(sandbox: Sandbox) -> None:
    source = """
import signal, time
signal.signal(signal.SIGALRM, signal.SIG_IGN)
def f():
    while True:
        try:
            while True: pass
        except BaseException: pass
def g(): time.sleep(60)
"""
    began = time.monotonic()
    expected = [Outcome.VALUE, Outcome.TIMEOUT, Outcome.TIMEOUT, Outcome.VALUE]
    assert outcomes(sandbox, source, "1", "f()", "g()", "2") == expected
    assert time.monotonic() - began < 20


def test_a_source_that_never_ends_costs_all_calls(sandbox: Sandbox) -> None:
    assert outcomes(sandbox, "while True: pass", "1", "2") == [Outcome.TIMEOUT] * 2


def test_all_calls_together_end_in_time(sandbox: Sandbox) -> None:
    bounds = Bounds(call_s=0.5, wait_s=0.5, total_s=1.2)
    source = "import time\ndef f(): time.sleep(9)"
    began = time.monotonic()
    results = run(sandbox, source, *["f()"] * 10, bounds=bounds)
    assert [result.outcome for result in results] == [Outcome.TIMEOUT] * 10
    assert time.monotonic() - began < 10


def test_there_is_no_network(sandbox: Sandbox) -> None:
    source = (
        "import socket\n"
        "def f(family):\n    return socket.socket(family)\n"
        "def g():\n    return socket.create_connection(('127.0.0.1', 80))\n"
    )
    results = run(sandbox, source, "f(socket.AF_INET)", "f(socket.AF_UNIX)", "g()")
    assert {result.detail for result in results} <= {"PermissionError", "ModuleNotFoundError"}


def test_no_environment_is_there_to_be_read(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAU_API_KEY", "hunter2")
    own = client.start()
    try:
        source = f"""
import os
def read(path):
    with open(path, 'rb') as file: return file.read().decode()
def environ():
    return dict(os.environ)
def parents():
    return [read(f'/proc/{{pid}}/environ') for pid in (os.getppid(), {os.getpid()}, 1, 'self')]
"""
        results = own.evaluate(Program(source, ("environ()", "parents()"))).results
        assert results[0].value == {}
        assert results[1].detail == "PermissionError"
        environ = Path(f"/proc/{own.pid}/environ").read_text()
        assert "hunter2" not in environ
    finally:
        own.close()


def test_no_file_is_read_or_written(sandbox: Sandbox, tmp_path: Path) -> None:
    target = tmp_path / "out"
    tmp_path.chmod(0o777)
    source = f"""
import os, io
def write(): open({str(target)!r}, 'w').write('x')
def read(): return open({__file__!r}).read()
def low(): return os.open({str(target)!r}, os.O_WRONLY | os.O_CREAT)
def home(): open('here', 'w')
def remove(): os.unlink({__file__!r})
def make(): os.mkdir({str(target)!r})
"""
    calls = ("write()", "read()", "low()", "home()", "remove()", "make()")
    results = run(sandbox, source, *calls)
    assert {result.detail for result in results} == {"PermissionError"}
    assert not target.exists()


def test_other_processes_cannot_be_signalled(sandbox: Sandbox) -> None:
    source = "import os\ndef f(pid): os.kill(pid, 9)"
    assert outcomes(sandbox, source, f"f({os.getpid()})", "f(os.getppid())", "f(-1)") == (
        [Outcome.RAISED] * 3
    )


def test_deep_recursion_costs_its_call(sandbox: Sandbox) -> None:
    source = """
import sys
def f(n): return f(n + 1)
def g():
    sys.setrecursionlimit(10**9)
    return f(0)
"""
    results = outcomes(sandbox, source, "f(0)", "g()", "1")
    assert results[0] is Outcome.RAISED
    assert results[1] in (Outcome.RAISED, Outcome.DIED, Outcome.TIMEOUT)
    assert results[2] is Outcome.VALUE


def test_printing_goes_nowhere_and_a_flood_of_values_is_cut(sandbox: Sandbox) -> None:
    source = "def f():\n    print('x' * 10**6)\n    return 1\ndef g():\n    return 'y' * (1 << 21)"
    assert outcomes(sandbox, source, "f()", "g()") == [Outcome.VALUE, Outcome.FLOODED]


def test_an_exit_costs_its_call(sandbox: Sandbox) -> None:
    source = """
import os, sys
def f(): os._exit(0)
def g(): sys.exit(0)
def h(): raise KeyboardInterrupt
"""
    expected = [Outcome.DIED, Outcome.RAISED, Outcome.RAISED, Outcome.VALUE]
    assert outcomes(sandbox, source, "f()", "g()", "h()", "1") == expected
    assert outcomes(sandbox, "import os\nos._exit(0)", "1", "2") == [Outcome.DIED] * 2


def test_patched_builtins_stay_in_their_cell(sandbox: Sandbox) -> None:
    source = """
import builtins, json
builtins.len = lambda x: 42
builtins.isinstance = lambda *a: True
json.dumps = lambda *a, **k: '1'
def f(): return len([])
"""
    run(sandbox, source, "f()")
    assert run(sandbox, "def f(): return len([])", "f()") == [CallResult(Outcome.VALUE, 0)]


def test_a_forged_report_can_only_claim_outputs(sandbox: Sandbox) -> None:
    """What is right never enters the cell, so claiming is no better than guessing."""
    source = """
import os, struct
for index in range(3):
    os.write(3, struct.pack('>iBI', index, 0, 4) + b'true')
os.write(1, b'{"passed": 3, "failed": 0}')
def f(): return 7
"""
    results = run(sandbox, source, "f()", "f()", "f()")
    # The reports came before the one that the source had run, so none is believed.
    assert [result.outcome for result in results] == [Outcome.FLOODED] * 3


def test_garbage_on_the_pipe_is_no_output(sandbox: Sandbox) -> None:
    source = "import os\ndef f(): os.write(3, b'\\xff' * 4000)"
    assert outcomes(sandbox, source, "f()", "1") == [Outcome.DIED, Outcome.VALUE]


def test_nested_json_on_the_pipe_is_unreadable(sandbox: Sandbox) -> None:
    source = """
import os, struct
def f():
    text = b'[' * 100_000
    os.write(3, struct.pack('>iBI', 0, 0, len(text)))
    while text: text = text[os.write(3, text):]
"""
    assert outcomes(sandbox, source, "f()")[0] is Outcome.UNREADABLE


def test_an_object_that_equals_everything_does_not_travel(sandbox: Sandbox) -> None:
    source = """
class Same:
    def __eq__(self, other): return True
    def __hash__(self): return 1
class Text(str):
    def __eq__(self, other): return True
    def __hash__(self): return 1
"""
    results = run(sandbox, source, "Same()", "[Same()]", "Text('a')")
    assert results[0].value != 5 and results[1].value != [5] and results[2].value != "b"
    assert type(results[2].value) is str


def test_a_sleeping_program_ends_with_its_client(sandbox: Sandbox) -> None:
    """A world that is killed while it scores leaves nothing behind."""
    source = "import time\ndef f(): time.sleep(60)"
    script = (
        "from trainer.worlds.sandbox import client\n"
        "from trainer.worlds.sandbox.program import *\n"
        "sandbox = client.start()\n"
        "print(sandbox.pid, flush=True)\n"
        f"sandbox.evaluate(Program({source!r}, ('f()',), bounds=Bounds(wait_s=60, total_s=60)))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    ) as caller:
        assert caller.stdout is not None
        pid = int(caller.stdout.readline())
        time.sleep(0.3)
        caller.kill()
    give_up = time.monotonic() + 10
    while _alive(pid) and time.monotonic() < give_up:
        time.sleep(0.02)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    """True while a process runs; one that nobody collects has ended all the same."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_strict_names_are_local_as_inside_a_function(sandbox: Sandbox) -> None:
    source = "import math\ndef g(): return 1\ndef f(): return g()\ndef h(): return math.pi"
    calls = ("g()", "f()", "h()")
    strict = sandbox.evaluate(Program(source, calls, Namespace.STRICT)).results
    fresh = sandbox.evaluate(Program(source, calls, Namespace.FRESH)).results
    assert [result.detail for result in strict] == ["", "NameError", "NameError"]
    assert all(result.outcome is Outcome.VALUE for result in fresh)
