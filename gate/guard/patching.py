"""Patches of the trainer's own code: tried in a scratch copy with its tests, applied when asked.

A patch is `proposals/NNNN.patch`, as `git diff` writes it. It is applied to a worktree outside the
checkout, where the tests of the checkout run with limits; the checkout itself changes only when a
person says `gate apply`, and takes effect with a restart. What judges, what measures and the
tests that are there are never patched.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gate.contract import files, protected, world_declaration
from gate.contract.findings import Finding, Severity
from gate.contract.paths import OutsideRoot, RunPaths, inside
from gate.guard import probing

CHECKOUT = protected.CHECKOUT
"""What a patch changes, where nobody names another."""

LARGEST = 1 << 20
"""Bytes of a patch."""

TESTS = (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")
"""The tests of a checkout."""

TESTS_S = 3600.0
"""Seconds that they may take."""

GIT_S = 120.0
"""Seconds that one command of git may take."""

_PLAIN_MODES = ("100644", "100755")


@dataclass(frozen=True)
class Tried:
    """What became of a patch in the scratch copy."""

    findings: tuple[Finding, ...] = ()
    digest: str = ""
    """The sha256 of the patch."""
    files: tuple[str, ...] = ()
    """The files that it changes, by path within the checkout."""
    told: str = ""
    """The last line that the tests wrote."""
    content: bytes = field(default=b"", repr=False)

    @property
    def passed(self) -> bool:
        """True when nothing stands against it."""
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        """Return what the ledger keeps of it."""
        return {"digest": self.digest, "files": list(self.files), "tests": self.told}


def attempt(
    run: RunPaths,
    number: int,
    *,
    checkout: Path | None = None,
    tests: Sequence[str] | None = None,
    seconds: float = TESTS_S,
) -> Tried:
    """Apply a patch to a scratch copy of the checkout's last commit and run the tests there.

    Args:
        run: The run.
        number: The number of the patch.
        checkout: What it would change; by default the one that this code is of.
        tests: The program that tests; it runs in the copy. By default all tests.
        seconds: How long that may take.
    """
    name = f"proposals/{number:04d}.patch"
    try:
        content = files.read_plain(inside(run.root, "proposals") / Path(name).name, most=LARGEST)
    except (OSError, OutsideRoot) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Tried((_flaw(name, f"{name} cannot be read: {reason}.", "Put it there."),))
    if len(content) > LARGEST:
        message = f"{name} has more than {LARGEST} bytes."
        return Tried((_flaw(name, message, "Make several patches."),))
    with _scratch(checkout or CHECKOUT) as copy:
        failed, changed = _apply(copy, content)
        found = [_flaw(name, f"{name} does not apply: {failed}.", _AGAIN)] if failed else []
        found += [
            _flaw(name, f"{name} touches {path}: {why}.", "Leave it out.")
            for path, why in _refused(copy, changed)
        ]
        told = ""
        if not found:
            ended, told = _test(copy, tests or TESTS, seconds)
            if ended:
                message = f"With {name} the tests fail: {ended}."
                found.append(_flaw(name, message, "Mend the patch."))
    digest = files.content_digest(content)
    return Tried(tuple(found), digest, tuple(path for path, _ in changed), told, content)


def fits(tried: Tried, *, checkout: Path | None = None) -> Tried:
    """Return what became of a patch, with what stands in its way in the checkout itself."""
    if not tried.passed:
        return tried
    place = checkout or CHECKOUT
    ended = _git(place, "apply", "--check", "--whitespace=nowarn", "-", content=tried.content)
    if ended.returncode == 0:
        return tried
    message = f"The patch does not apply to {place}: {_last(ended.stderr)}."
    step = "Commit or undo what was edited there, and try again."
    return replace(tried, findings=(Finding("patch.refused", Severity.ERROR, message, step),))


def bring_in(tried: Tried, *, checkout: Path | None = None) -> None:
    """Apply a patch that passed and fits to the checkout itself.

    Raises:
        RuntimeError: if it does not apply after all.
    """
    place = checkout or CHECKOUT
    ended = _git(place, "apply", "--whitespace=nowarn", "-", content=tried.content)
    if ended.returncode:
        raise RuntimeError(
            f"the patch does not apply to {place}: {_last(ended.stderr)}; apply it by hand: the "
            "ledger says that it is in force with the next start"
        )


_AGAIN = "Make it again over the last commit of the checkout."


@contextlib.contextmanager
def _scratch(checkout: Path) -> Generator[Path]:
    """Give a worktree of the last commit, outside the checkout, that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="gate-patch-") as folder:
        copy = Path(folder) / "checkout"
        ended = _git(checkout, "worktree", "add", "--detach", os.fspath(copy), "HEAD")
        if ended.returncode:
            raise RuntimeError(
                f"{checkout} gives no scratch copy: {_last(ended.stderr)}; a patch needs a git "
                "checkout"
            )
        try:
            yield copy
        finally:
            _git(checkout, "worktree", "remove", "--force", "--force", os.fspath(copy))


def _apply(copy: Path, content: bytes) -> tuple[str, list[tuple[str, str]]]:
    """Return why a patch does not apply, and the files that it changes with their new modes."""
    ended = _git(copy, "apply", "--index", "--whitespace=nowarn", "-", content=content)
    if ended.returncode:
        return _last(ended.stderr), []
    told = _git(copy, "diff", "--cached", "--raw", "--no-renames", "-z", "HEAD").stdout.split(b"\0")
    heads, paths = told[0:-1:2], told[1::2]
    return "", [
        (path.decode("utf-8", "replace"), head.split()[1].decode())
        for head, path in zip(heads, paths, strict=True)
    ]


def _refused(copy: Path, changed: Sequence[tuple[str, str]]) -> Generator[tuple[str, str]]:
    """Yield the files that no patch may change, each with the reason."""
    for path, mode in changed:
        parts = path.split("/")
        there = _git(copy, "cat-file", "-e", f"HEAD:{path}").returncode == 0
        if mode not in (*_PLAIN_MODES, "000000"):
            yield path, "it is no plain file"
        elif parts[0] == "tests" and not there:
            continue
        elif parts[0] == "tests":
            yield path, "a test that is there stays as it is"
        elif parts[0] not in ("trainer", "docs") or parts[:2] == ["trainer", "probe"]:
            yield path, "only trainer/, docs/ and new tests are open to a patch"
        elif parts[:2] == ["trainer", "worlds"] and (
            set(parts[3:4]) & world_declaration.NEVER_EDITABLE
        ):
            yield path, "it says what is solved, or measures it"


def _test(copy: Path, tests: Sequence[str], seconds: float) -> tuple[str, str]:
    """Return why the tests failed, empty if they passed, and the last line that they wrote."""
    answer = copy.parent / "answer.json"
    command = [sys.executable, "-m", "gate.leash", os.fspath(answer), f"{seconds}", f"{LARGEST}"]
    leash = subprocess.Popen(
        [*command, "env", "--chdir", os.fspath(copy), f"PYTHONPATH={copy}", *tests],
        cwd=protected.CHECKOUT,
        env=probing.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with leash:
        leash.wait()
    told = json.loads(answer.read_bytes())
    last = _last(told["stdout"].encode() or told["stderr"].encode())
    if told["ended"] == 0:
        return "", last
    how = told["ended"]
    return f"{f'status {how}' if isinstance(how, int) else how} ({last})", last


def _git(
    place: Path, *arguments: str, content: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    # No hook and no setting of whoever runs this has a say.
    environment = {**probing.environment(), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": ""}
    return subprocess.run(
        ["git", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*", *arguments],
        cwd=place,
        env=environment,
        input=b"" if content is None else content,
        capture_output=True,
        timeout=GIT_S,
        check=False,
    )


def _last(text: bytes) -> str:
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else "it said nothing"


def _flaw(name: str, message: str, next_step: str) -> Finding:
    return Finding("patch.refused", Severity.ERROR, message, next_step, file=name)
