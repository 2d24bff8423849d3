"""What runs at every step loads no numerical library; only the simulation needs one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gate.effects

FOLDER = Path(gate.effects.__file__).parent
MODULES = sorted(
    f"gate.effects.{path.stem}"
    for path in FOLDER.glob("*.py")
    if path.stem not in ("__init__", "__main__", "simulation")
)


@pytest.mark.parametrize("modules", [["gate.guard"], ["gate.effects", *MODULES]], ids=len)
def test_no_numerical_library_is_loaded(modules: list[str]) -> None:
    program = (
        f"import sys, {', '.join(modules)}\n"
        "print(sorted({'numpy', 'scipy', 'torch'} & sys.modules.keys()))"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=FOLDER.parent.parent,
    )
    assert outcome.stdout == "[]\n"
