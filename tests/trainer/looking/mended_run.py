"""A recorded run of forty steps: a planted fault, the proposal that mends it, test and verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gate.contract import files, ledger
from gate.contract.experiments import Experiment
from gate.contract.ledger import EntryKind
from gate.contract.paths import RunPaths
from gate.guard import Guard, plant
from tests import live_run, proposed

FAULT, MENDED, JUDGED, LAST = 16, 23, 28, 40
"""Steps from which the fault is in force, its mending is tested, and the test is over."""
NOW = 1_800_000_000.0
TEST = Experiment(
    number=1,
    proposal=1,
    revision=2,
    old_revision=1,
    opened=MENDED,
    judged=True,
    design="concurrent_arms",
    window=10,
    noise_sd=0.2,
    detectable=0.21,
)
OUTCOME: dict[str, Any] = {
    "experiment": 1,
    "proposal": 1,
    "revision": 2,
    "verdict": "help",
    "because": "the evidence of help reached 21.0 after 5 steps (20 suffices)",
    "effect": {"difference": 0.45, "low": 0.3, "high": 0.6, "detectable": 0.21},
    "rolled_back_by": None,
}


def make(root: Path) -> RunPaths:
    """Write the run; its last step is `LAST`."""
    run = live_run.launch(root)
    proposed.record_launch(run)
    proposed.log_steps(run, MENDED - 1)
    plant(
        run,
        {"environment.max_steps": 12},
        reason="planted short: too few turns",
        worlds=live_run.WORLDS,
        step=FAULT,
        now=1.0,
        timeout_s=1.0,
    )
    evidence = {"steps": [17, 18, 19, 21], "episodes": ["000019-00"]}
    why = "success fell with revision 1"
    proposed.submit(run, changes=None, reverts=1, why=why, evidence=evidence)
    proposed.submit(run, changes={"environment.max_steps": 15}, why="more turns")
    Guard.open(run, worlds=live_run.WORLDS).reconcile(MENDED, success_history=(), now=2.0)
    ledger.append(run.ledger, EntryKind.OPENED, TEST.to_json(), step=MENDED, now=3.0)
    ledger.append(run.ledger, EntryKind.OUTCOME, OUTCOME, step=JUDGED, now=4.0)
    run.steps.unlink()
    for number in range(1, LAST + 1):
        files.append_line(run.steps, step(number))
        run.episodes_of(number).unlink(missing_ok=True)
        for index, success in enumerate((1.0, 0.0)):
            files.append_line(run.episodes_of(number), episode(number, index, success))
    for event in events():
        files.append_line(run.events, event)
    tell(run)
    return run


def step(number: int, **other: Any) -> dict[str, Any]:
    """Return the record of one step."""
    good = not FAULT <= number < MENDED
    success = (0.75 if good else 0.25) + 0.05 * (-1) ** number
    revision = 0 if number < FAULT else 1 if number < MENDED else 2
    record: dict[str, Any] = {
        "step": number,
        "revision": revision,
        "world_revision": 0,
        "started": 32,
        "finished": 32,
        "quarantined": 0,
        "dropped": 0,
        "stop_reasons": {"solved": round(32 * success), "failed": 32 - round(32 * success)},
        "success": success,
        "success_by_arm": {"symbolic": success, "noisy": success - 0.1},
        "pinned_success_by_arm": {"symbolic": success, "noisy": success - 0.1},
        "episodes_by_arm": {"symbolic": 20, "noisy": 10},
        "anchor_success": 0.5,
        "anchor_episodes": 2,
        "agent_turns": 4.0 + number / 20,
        "action_tokens": 1600,
        "step_s": 4.0,
        "learner": {
            "entropy": 0.5,
            "kl": 0.01,
            "actor_grad_norm": 0.3,
            "critic_grad_norm": 0.6,
            "explained_variance": 0.4,
            "actor_lr": 2e-06,
            "sampler_logprob_gap_mean": 1e-7,
            "sampler_logprob_gap_max": 1e-6,
        },
        "by_side": {
            "in_force": {
                "revision": revision,
                "world_revision": 0,
                "started": 30,
                "quarantined": 0,
            },
            "anchor": {"revision": 0, "world_revision": 0, "started": 2, "quarantined": 0},
        },
        "time": NOW + 4.0 * number,
    }
    if MENDED <= number < JUDGED:
        record["test"], record["old_revision"] = 1, 1
        record["by_side"] = {
            "old": {"revision": 1, "world_revision": 0, "started": 15, "quarantined": 1},
            "new": {"revision": 2, "world_revision": 0, "started": 15, "quarantined": 0},
            "anchor": record["by_side"]["anchor"],
        }
        record["sides"] = {
            "old": {"symbolic": {"success": 0.25, "episodes": 14}},
            "new": {"symbolic": {"success": 0.75, "episodes": 15}},
        }
    return {**record, **other}


def episode(number: int, index: int, success: float, **other: Any) -> dict[str, Any]:
    """Return the record of one episode."""
    revision = step(number)["revision"]
    return {
        "id": f"{number:06d}-{index:02d}",
        "step": number,
        "task_id": "t-1",
        "world": "travel",
        "arm": "symbolic",
        "revision": revision,
        "side": "in_force",
        "stop": "solved" if success else "failed",
        "outcome": "finished",
        "success": success,
        "reward": success,
        "rewards": [{"rule": "task", "value": success, "turn": 0}],
        "turns": [
            {"speaker": "user", "text": f"hello {number}", "agent_turn": 0},
            {"speaker": "agent", "text": "[answer] B", "agent_turn": 0},
        ],
        "error": None,
        **other,
    }


def events() -> list[dict[str, Any]]:
    """Return the events of the run."""
    spoilt = {"episode": "000024-03", "stop": "env_error", "error": "the world broke"}
    changes = [{"path": "environment.max_steps", "old": 16, "new": 12}]
    return [
        {"kind": "run_started", "step": 0, "detail": {"recipe": "test"}, "time": NOW},
        {"kind": "knob_adopted", "step": 16, "detail": {"revision": 1, "changes": changes}},
        {"kind": "quarantined", "step": 24, "detail": spoilt, "time": NOW},
        {"kind": "quarantined", "step": 24, "detail": {**spoilt, "episode": "000024-04"}},
        {"kind": "checkpoint", "step": 30, "detail": {"directory": "step-000030"}, "time": NOW},
    ]


def tell(run: RunPaths, **other: Any) -> None:
    """Write the run's status."""
    status = {
        "run": run.root.name,
        "phase": "training",
        "stage": "rollout",
        "step": LAST,
        "total_steps": 50,
        "revision": 2,
        "world_revision": 0,
        "refused": [],
        "warnings": [],
        "health": {"quarantined_share": 0.0, "constant_reward": False, "updated": True},
        "pid": 1,
        "heartbeat": NOW,
        "reason": None,
        "endpoint": {},
    }
    run.status.write_text(json.dumps({**status, **other}))
