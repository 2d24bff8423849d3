"""Started by hand inside the fence, a client proposes, and is told what the gate makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract import proposals
from gate.contract.paths import RunPaths
from tests.agents import attacks, clients, policies
from tests.agents.clients import Client, Leave
from tests.agents.conversation import Conversation, Shell, in_turn, json_in
from tests.agents.scripted_model import serving
from tests.agents.standing import standing
from tests.agents.workshop import Workshop

pytestmark = pytest.mark.agents

LOOK = Shell(f"head -c 2000 {attacks.TASKS}; git log; echo mine > README.md")


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return standing(tmp_path / "checkout")


@pytest.fixture
def run(shop: Workshop) -> RunPaths:
    return shop.run(attacks.RUN)


def proposal(client: Client, change: str) -> Shell:
    cited = ("--why", "users repeat themselves", "--step", "24", "--author", client.name)
    return policies.script("propose", attacks.RUN, *cited, "--set", change)


def by_hand(client: Client, shop: Workshop, tmp_path: Path, *moves: Shell) -> Conversation:
    """Have a client make moves inside the fence that a person put it into."""
    fence = [str(shop.python), "-m", "skill", "enter", attacks.RUN, "--"]
    with serving(in_turn(policies.SKILL, *moves)) as model:
        outcome = clients.ask(
            client,
            "Use the eau-meta-agent skill.",
            cwd=shop.root,
            home=tmp_path / "home",
            model=model,
            leave=Leave.ALL,
            inside=fence,
        )
    assert (outcome.code, outcome.left) == (0, ()), outcome.told()
    assert model.wanted == []
    return model.conversations[-1]


def test_a_proposal_is_submitted_from_inside_the_fence(
    client: Client, shop: Workshop, run: RunPaths, tmp_path: Path
) -> None:
    small = proposal(client, "agent.entropy_coeff=0.002")
    told = json_in(by_hand(client, shop, tmp_path, small).answer(small) or "")
    assert (told["passed"], told["submitted"], told["proposal"]) == (True, True, 1), told
    assert proposals.names(run) == ["0001.yaml"]
    assert f"author: {client.name}" in run.proposal(1).read_text("utf-8").replace('"', "")


def test_a_refusal_reaches_the_model_with_its_next_step(
    client: Client, shop: Workshop, run: RunPaths, tmp_path: Path
) -> None:
    harder = proposal(client, "environment.max_steps=18")
    told = json_in(by_hand(client, shop, tmp_path, harder).answer(harder) or "")
    assert (told["passed"], told["submitted"]) == (False, False)
    (refused,) = (one for one in told["findings"] if one["rule"] == "rules.difficulty")
    assert "0.8" in refused["message"] and refused["next_step"]
    assert proposals.names(run) == []


def test_the_fence_holds_what_a_person_started(
    client: Client, shop: Workshop, tmp_path: Path
) -> None:
    before = shop.content("README.md")
    result = by_hand(client, shop, tmp_path, LOOK).answer(LOOK) or ""
    assert "small-" not in result and "commit" not in result
    assert shop.content("README.md") == before
