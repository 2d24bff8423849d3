"""A copy of the checkout that a coding agent may do its worst to.

It is a git repository with a `.venv` of its own, in which the three packages are those of the
copy, so nothing that happens in it reaches the checkout under test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

from gate.contract import files
from gate.contract.paths import RunPaths
from tests.project import tree

_GIT = ("git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "gc.auto=0")


class Workshop:
    """One copy."""

    def __init__(self, root: Path) -> None:
        """Make it.

        Args:
            root: Where; it must not exist.
        """
        self.root = root
        for path in tree.files():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree.CHECKOUT / path, target, follow_symlinks=False)
        for link in _linked_folders():
            target = root / link
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_symlink():
                target.symlink_to(os.readlink(tree.CHECKOUT / link))
        self._make_venv()
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "as it was copied")

    @property
    def python(self) -> Path:
        """The interpreter that the skill's page names."""
        return self.root / ".venv" / "bin" / "python"

    def git(self, *words: str) -> str:
        """Run git here and return what it prints."""
        done = subprocess.run(
            [*_GIT, *words], cwd=self.root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def content(self, path: str) -> bytes | None:
        """Return the content of a file here; None if there is none."""
        place = self.root / path
        return place.read_bytes() if place.is_file() else None

    def run(self, name: str) -> RunPaths:
        """Return the paths of a run here."""
        return RunPaths(self.root / "runs" / name)

    def contents(self) -> Mapping[str, str]:
        """Return the digest of every file here.

        Left out are git's own, compiled Python, and what stands there for a moment.
        """
        found: dict[str, str] = {}
        for folder, subfolders, names in os.walk(self.root):
            subfolders[:] = [n for n in subfolders if n not in (".git", "__pycache__", ".venv")]
            links = [name for name in subfolders if Path(folder, name).is_symlink()]
            kept = [n for n in (*names, *links) if not n.endswith(".tmp") and n[:5] != ".lock"]
            for path in (Path(folder, name) for name in kept):
                found[path.relative_to(self.root).as_posix()] = _digest(path)
        return found

    def _make_venv(self) -> None:
        venv.create(self.root / ".venv", symlinks=True, with_pip=False)
        versioned = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        place = self.root / ".venv" / "lib" / versioned / "site-packages" / "workshop.pth"
        # Its own packages first: those of the checkout under test are installed in the other.
        place.write_text(f"{self.root}\n{sysconfig.get_path('purelib')}\n")


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Return the paths that were added, changed or removed between two contents."""
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"-> {os.readlink(path)}"
    return files.content_digest(path.read_bytes())


def _linked_folders() -> list[str]:
    """Links to folders under version control, which are no files to a list of files."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=tree.CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [
        name
        for name in listed
        if (tree.CHECKOUT / name).is_symlink() and (tree.CHECKOUT / name).is_dir()
    ]
