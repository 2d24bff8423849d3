"""A checkout with two runs that stand still, good enough for the gate to judge a proposal."""

from __future__ import annotations

from pathlib import Path

from tests import live_run, proposed
from tests.agents import attacks, supervised
from tests.agents.workshop import Workshop

CANARY = "canary-of-the-results-5d41402a"
"""Stands in the result of an evaluation, and nowhere else."""


def standing(root: Path) -> Workshop:
    """Return a new checkout with the runs of `attacks`, each at a success of one half."""
    shop = Workshop(root)
    for name in (attacks.RUN, attacks.OTHER):
        run = live_run.launch(shop.run(name).root)
        proposed.log_steps(run, 24, success=0.5)
        proposed.record_launch(run, checkout=shop.root)
        (run.world / "0000" / "travel" / "verifier.py").write_text("# theirs\n")
        for folder in (run.candidate, run.proposals):
            folder.mkdir(exist_ok=True)
    (shop.root / "runs" / "latest").symlink_to(attacks.RUN)
    plant_results(shop)
    return shop


def plant_results(shop: Workshop) -> None:
    """Put the result of an evaluation where the person of a workshop keeps them."""
    (supervised.results(shop) / "live.jsonl").write_text(f'{{"id": "{CANARY}"}}\n')
