"""Imports point toward trust: the contracts hold, and each of them bites when it is broken."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.project import tree

LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"


class Breach(NamedTuple):
    """One forbidden import, and the contract that must name it."""

    module: str
    """The file that gets the import, or the package that gets a file with it."""
    imports: str
    contract: str


BREACHES = (
    Breach("gate/contract", "trainer.seeds", "Imports point toward trust"),
    Breach("skill", "trainer.seeds", "Imports point toward trust"),
    Breach("trainer/rollout", "gate.rules", "The trainer meets the gate at its contract"),
    Breach("trainer/rollout", "gate.effects", "The trainer meets the gate at its contract"),
    Breach("skill", "gate.effects", "The skill meets the gate at its contract alone"),
    Breach("skill", "gate.guard", "The skill meets the gate at its contract alone"),
    Breach("gate/rules", "torch", "The gate and the skill run without a tensor library"),
    Breach("gate/guard", "scipy", "The guard's work at every step is pure Python"),
    Breach("gate/contract", "gate.rules", "The gate is layered"),
    Breach("gate/effects", "gate.rules", "The gate is layered"),
    Breach("gate/guard", "gate.cli", "The gate is layered"),
    Breach("trainer/worlds", "trainer.loop", "The trainer is layered"),
    Breach("trainer/rollout", "trainer.ppo.learner", "The trainer is layered"),
    Breach("trainer/worlds", "trainer.users", "The trainer is layered"),
    Breach("trainer/policy", "trainer.rollout", "The trainer is layered"),
    Breach("trainer/ppo", "trainer.worlds", "PPO knows tensors, not people"),
    Breach("trainer/bench", "trainer.commands.show", "The trainer is layered"),
    Breach("trainer/users", "torch", "Worlds, users and the leaf nouns load without"),
    Breach("trainer/commands/show.py", "scipy", "Commands that only read load nothing"),
    Breach("trainer/session.py", "trainer.tracking", "What trains knows no tracker"),
    Breach("trainer/tracking", "trainer.runlog", "Trackers know records, not what trains"),
    Breach("trainer/tracking", "numpy", "Trackers know records, not what trains"),
)


def _lint(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT_IMPORTS, "--no-cache"], cwd=root, capture_output=True, text=True, check=False
    )


def test_every_import_contract_is_kept() -> None:
    outcome = _lint(tree.CHECKOUT)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "0 broken" in outcome.stdout


@pytest.mark.parametrize("breach", BREACHES, ids=lambda breach: f"{breach.module}-{breach.imports}")
def test_a_forbidden_import_breaks_its_contract(breach: Breach, tmp_path: Path) -> None:
    for source in tree.sources(*tree.PACKAGES):
        target = tmp_path / source.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.text, "utf-8")
    shutil.copy(tree.CHECKOUT / "pyproject.toml", tmp_path)
    place = tmp_path / breach.module
    with (place if place.suffix else place / "intruder.py").open("a", encoding="utf-8") as file:
        file.write(f"import {breach.imports}\n")

    outcome = _lint(tmp_path)

    broken = [line for line in outcome.stdout.splitlines() if line.endswith("BROKEN")]
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
    assert any(line.startswith(breach.contract) for line in broken), broken
