"""The attacks bite: where nothing holds a client they succeed, so failing inside a fence says much.

What a client refuses by itself, whatever it is allowed, is named.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.agents import attacks, clients
from tests.agents.clients import Client, Leave
from tests.agents.conversation import Move, in_turn
from tests.agents.scripted_model import ScriptedModel, serving
from tests.agents.standing import standing
from tests.agents.test_attacks import WRITES, aims_of, secrets_of
from tests.agents.workshop import Workshop

pytestmark = pytest.mark.agents

ITS_OWN: Mapping[str, set[str]] = {"claude": {"a hook of git"}, "codex": set()}
"""Writing attacks that a client refuses by itself, whatever it is allowed."""


@pytest.fixture(scope="module")
def shop(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A checkout without the clients' profiles, and two runs that stand still."""
    shop = standing(tmp_path_factory.mktemp(f"unfenced-{client.name}") / "checkout")
    (shop.root / ".claude" / "settings.json").unlink()
    shutil.rmtree(shop.root / ".codex")
    return shop


def try_all(client: Client, shop: Workshop, home: Path, moves: Sequence[Move]) -> ScriptedModel:
    with serving(in_turn(*attacks.in_order(moves)), max_requests=100) as model:
        outcome = clients.ask(client, "go", cwd=shop.root, home=home, model=model, leave=Leave.ALL)
    assert outcome.code == 0, outcome.told()
    return model


def test_every_way_of_reading_leads_to_evaluation_data(
    client: Client, shop: Workshop, tmp_path: Path
) -> None:
    model = try_all(client, shop, tmp_path, list(attacks.READING.values()))
    secrets = secrets_of(shop)
    talk = model.conversations[-1]
    in_vain = {
        way
        for way, move in attacks.READING.items()
        if not any(word in (talk.answer(move) or "") for word in secrets)
    }
    assert in_vain == set()


def test_every_way_of_writing_leads_to_the_file(
    client: Client, shop: Workshop, tmp_path: Path
) -> None:
    before = aims_of(shop)
    try_all(client, shop, tmp_path, WRITES)
    after = aims_of(shop)
    in_vain = {
        what
        for what, attack in attacks.WRITING.items()
        if not attack.had_its_way(before[what], after[what])
    }
    assert in_vain == ITS_OWN[client.name]
