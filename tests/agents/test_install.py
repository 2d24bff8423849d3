"""A machine without a way to npm is told so, loudly, and told apart from a broken install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.clients import CHECKOUT

NOBODY = "http://127.0.0.1:9"
"""Where no registry listens."""


def install(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    env = {**os.environ, "EAU_CLIENTS": str(folder), "npm_config_cache": str(folder / "cache")}
    env |= {"npm_config_registry": NOBODY, **variables}
    return subprocess.run(
        [sys.executable, "-m", "tests.agents.install"],
        cwd=CHECKOUT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_registry_the_reason_is_told_and_kept(tmp_path: Path) -> None:
    done = install(tmp_path)
    assert done.returncode == 0
    assert "NOT TESTED WITH REAL CLIENTS: npm cannot reach its registry" in done.stderr
    assert "npm cannot reach its registry" in (tmp_path / "why-not.txt").read_text("utf-8")


def test_whoever_needs_the_clients_is_failed_without_a_registry(tmp_path: Path) -> None:
    assert install(tmp_path, EAU_NEED_CLIENTS="1").returncode == 1


def test_without_npm_that_is_the_reason(tmp_path: Path) -> None:
    done = install(tmp_path, PATH=str(tmp_path))
    assert done.returncode == 0
    assert "npm is not installed" in done.stderr
