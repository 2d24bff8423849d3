"""What the gate would refuse is told to a client with the next step, and nothing is submitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract import proposals
from tests import live_run, proposed
from tests.agents import clients, policies
from tests.agents.clients import Client
from tests.agents.conversation import in_turn, json_in
from tests.agents.scripted_model import serving
from tests.agents.workshop import Workshop

pytestmark = pytest.mark.agents


def test_a_refusal_reaches_the_model_with_its_next_step(client: Client, tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "checkout")
    run = live_run.launch(shop.run("standing").root)
    proposed.log_steps(run, 24, success=0.5)
    proposed.record_launch(run)
    harder = policies.script(
        *("propose", "standing", "--why", "too easy", "--step", "24", "--author", client.name),
        *("--set", "environment.max_steps=18"),
    )
    with serving(in_turn(policies.SKILL, harder)) as model:
        outcome = clients.ask(
            client, "Make it harder.", cwd=shop.root, home=tmp_path / "home", model=model
        )
    assert (outcome.code, outcome.left) == (0, ()), outcome.told()
    told = json_in(model.conversations[-1].answer(harder) or "")
    assert (told["passed"], told["submitted"]) == (False, False)
    (refused,) = (one for one in told["findings"] if one["rule"] == "rules.difficulty")
    assert "0.8" in refused["message"] and refused["next_step"]
    assert proposals.names(run) == []
