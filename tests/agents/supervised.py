"""One supervised tick of a real client: `python -m skill supervise RUN --agent NAME --once`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.contract import files
from gate.contract.paths import RunPaths
from tests.agents import clients, keeper
from tests.agents.clients import Client
from tests.agents.conversation import Policy
from tests.agents.scripted_model import ScriptedModel, serving
from tests.agents.workshop import Workshop

TIMEOUT_S = 120.0
"""Seconds of a supervisor with one tick; one takes five to fifteen."""


@dataclass(frozen=True)
class Tick:
    """One tick, seen from all sides."""

    outcome: keeper.Outcome
    """Of the supervisor."""
    model: ScriptedModel
    record: Mapping[str, Any]
    """What the supervisor put on file about it."""


def tick(
    client: Client, shop: Workshop, run: RunPaths, policy: Policy, *flags: str, home: Path
) -> Tick:
    """Have a supervisor do one tick.

    Args:
        client: Whose.
        shop: The checkout of the run.
        run: The run.
        policy: What the model does.
        flags: Further flags of `supervise`.
        home: The home of the person who starts the supervisor.
    """
    command = [str(shop.python), "-m", "skill", "supervise", run.root.name, "--agent", client.name]
    command += ["--once", "--time-limit-s", "90", *flags]
    with serving(policy, max_requests=100) as model:
        env = clients.environment(client, home, model) | {
            "EAU_EVAL_ROOT": str(results(shop)),
            "OMP_NUM_THREADS": "1",
            "OMP_WAIT_POLICY": "passive",
        }
        outcome = keeper.run(command, cwd=shop.root, env=env, timeout_s=TIMEOUT_S)
    assert outcome.code == 0, outcome.told()
    newest = max(path for path in run.supervisor.iterdir() if path.is_dir())
    return Tick(outcome, model, json.loads(files.read_plain(newest / "tick.json", most=1 << 20)))


def results(shop: Workshop) -> Path:
    """Return where the person of a workshop keeps the results of evaluations."""
    place = shop.root.parent / "evaluations"
    place.mkdir(exist_ok=True)
    return place


def ledger_lines(run: RunPaths, kind: str) -> list[Mapping[str, Any]]:
    """Return the lines of one kind on a run's ledger."""
    return [line for line in files.read_lines(run.ledger).records if line["kind"] == kind]
