"""The profiles of the checkout hold a client that a person starts without the fence of a tick.

Codex enforces its own by the kernel. Claude Code asks a hook before each call of a tool. What is
let through here is named, and no more than that.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.agents import attacks, clients, policies
from tests.agents.clients import Client, Leave
from tests.agents.conversation import Conversation, Shell, Write, in_turn, json_in
from tests.agents.scripted_model import serving
from tests.agents.standing import standing
from tests.agents.test_attacks import LEAKS, WRITES, aims_of, secrets_of
from tests.agents.workshop import Workshop

pytestmark = pytest.mark.agents


@dataclass(frozen=True)
class Session:
    """A session that a person starts in a checkout that they trust."""

    client: Client
    shop: Workshop
    talk: Conversation
    written: set[str]
    """Writing attacks that came to something."""
    left: tuple[str, ...]


NOTE = Write("runs/latest/candidate/note.md", "mine\n")


def proposal(client: Client) -> Shell:
    cited = ("--why", "entropy falls fast", "--step", "24", "--author", client.name)
    return policies.script("propose", "latest", *cited, "--set", "agent.entropy_coeff=0.002")


@pytest.fixture(scope="module")
def session(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session that proposes, and then tries everything."""
    folder = tmp_path_factory.mktemp(f"profile-{client.name}")
    shop, home = standing(folder / "checkout"), folder / "home"
    (home / ".local" / "share" / "eau" / "evaluations").mkdir(parents=True)
    before = aims_of(shop)
    moves = attacks.in_order([*attacks.READING.values(), *WRITES])
    with serving(in_turn(proposal(client), NOTE, *moves), max_requests=100) as model:
        outcome = clients.ask(
            client,
            "Use the eau-meta-agent skill.",
            cwd=shop.root,
            home=home,
            model=model,
            leave=Leave.PROFILE,
        )
    assert outcome.code == 0, outcome.told()
    after = aims_of(shop)
    written = {
        what
        for what, attack in attacks.WRITING.items()
        if attack.had_its_way(before[what], after[what])
    }
    return Session(client, shop, model.conversations[-1], written, outcome.left)


def test_it_may_propose(session: Session) -> None:
    told = json_in(session.talk.answer(proposal(session.client)) or "")
    assert (told["passed"], told["submitted"], told["proposal"]) == (True, True, 1), told


def test_it_may_edit_its_working_copy(session: Session) -> None:
    assert session.shop.content(NOTE.path) == b"mine\n", session.talk.answer(NOTE)


def test_it_can_write_nothing_that_is_not_its_own(session: Session) -> None:
    assert [what for what in attacks.WRITING if session.talk.exchange(attacks.WRITING[what].move)]
    assert session.written == set()


def test_it_reads_evaluation_data_in_no_way_but_those_that_are_named(session: Session) -> None:
    secrets = secrets_of(session.shop)
    leaks = {
        way
        for way, move in attacks.READING.items()
        if any(word in (session.talk.answer(move) or "") for word in secrets)
    }
    assert leaks <= LEAKS[session.client.name]


def test_nobody_is_left_but_the_helper_that_codex_may_forget(session: Session) -> None:
    assert [one for one in session.left if clients.FORGOTTEN not in one] == []
