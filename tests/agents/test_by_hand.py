"""Started by hand, a client proposes and is told what the gate makes of it, and the fence holds.

It is started inside the fence of the kernel, and as Claude Code is with nothing around it: then
its profile alone holds it, though the person approves whatever it asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from gate.contract import proposals
from gate.contract.paths import RunPaths
from skill.experience import pool
from tests.agents import attacks, clients, policies
from tests.agents.clients import Client, Leave
from tests.agents.conftest import installed
from tests.agents.conversation import (
    Conversation,
    Delegate,
    Edit,
    Move,
    Read,
    Say,
    Shell,
    in_turn,
    json_in,
)
from tests.agents.scripted_model import ScriptedModel, serving
from tests.agents.standing import standing
from tests.agents.test_attacks import WRITES, aims_of, secrets_of
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


def with_nothing_around_it(shop: Workshop, home: Path, moves: Iterable[Move]) -> ScriptedModel:
    """Have Claude Code make moves, all of which the person approves."""
    claude = installed("claude")
    with serving(in_turn(*attacks.in_order(moves)), max_requests=100) as model:
        outcome = clients.ask(claude, "go", cwd=shop.root, home=home, model=model, leave=Leave.ALL)
    assert (outcome.code, outcome.left) == (0, ()), outcome.told()
    return model


def test_with_nothing_around_it_claude_reads_no_evaluation_data_in_any_way(
    shop: Workshop, tmp_path: Path
) -> None:
    model = with_nothing_around_it(shop, tmp_path / "home", attacks.READING.values())
    talk, sent = model.conversations[-1], model.everything_sent()
    assert [way for way, move in attacks.READING.items() if talk.exchange(move) is None] == []
    assert [word for word in secrets_of(shop) if word in sent] == []
    told = talk.answer(attacks.READING["by a glob"]) or ""
    assert "hook error" in told and "run one command" in told, told


def test_with_nothing_around_it_a_subagent_of_claude_reads_none_either(
    shop: Workshop, tmp_path: Path
) -> None:
    ask, look = Delegate("Look around, subagent."), attacks.READING["by a glob"]

    def policy(talk: Conversation) -> Sequence[Move]:
        move = ask if "Ask a subagent." in talk.text else look
        return [move] if talk.exchange(move) is None else [Say("done")]

    with serving(policy) as model:
        outcome = clients.ask(
            installed("claude"),
            "Ask a subagent.",
            cwd=shop.root,
            home=tmp_path / "home",
            model=model,
            leave=Leave.ALL,
        )
    assert (outcome.code, outcome.left) == (0, ()), outcome.told()
    assert any("hook error" in (talk.answer(look) or "") for talk in model.conversations)
    sent = model.everything_sent()
    assert [word for word in secrets_of(shop) if word in sent] == []


def test_with_nothing_around_it_claude_writes_nothing_that_is_anothers(
    shop: Workshop, tmp_path: Path
) -> None:
    before = aims_of(shop)
    with_nothing_around_it(shop, tmp_path / "home", WRITES)
    after = aims_of(shop)
    written = [
        what
        for what, attack in attacks.WRITING.items()
        if attack.had_its_way(before[what], after[what])
    ]
    assert written == []


def test_plain_calls_of_scripts_suffice_for_the_whole_loop(
    shop: Workshop, run: RunPaths, tmp_path: Path
) -> None:
    claude = installed("claude")
    small = proposal(claude, "agent.entropy_coeff=0.002")
    lesson = policies.script(
        *("lesson", "new", "--title", "It's a hunch; no more", "--world", "travel"),
        *("--policy", "small", "--evidence", f"runs/{attacks.RUN}/steps.jsonl#24"),
        *("--text", "We saw $x | y, and did *nothing*.\nNext time: look."),
    )
    looking = (policies.script("status", "latest"), policies.script("diagnose", "latest"))
    home, moves = tmp_path / "home", (policies.SKILL, *looking, small, lesson)
    talk = with_nothing_around_it(shop, home, moves).conversations[-1]
    assert json_in(talk.answer(small) or "")["submitted"], talk.answer(small)
    assert proposals.names(run) == ["0001.yaml"]
    newest = max(pool.read(shop.root / "experience" / "lessons").lessons, key=lambda one: one.id)
    assert newest.title == "It's a hunch; no more", talk.answer(lesson)
    assert "did *nothing*.\nNext time" in newest.body


def test_a_person_who_works_on_the_code_says_so_once(shop: Workshop, tmp_path: Path) -> None:
    page = (shop.root / "docs" / "supervisor.md").read_text("utf-8")
    (switch,) = [line.strip() for line in page.splitlines() if line.startswith('    {"env"')]
    assert json.loads(switch)["env"] == {"EAU_FENCE": "off"}
    (shop.root / ".claude" / "settings.local.json").write_text(switch)
    change = Edit("gate/rules/pace.py", "from __future__ import annotations", "import mine")
    look = Shell("git log --oneline | head -n 3")
    talk = with_nothing_around_it(shop, tmp_path / "home", [change, look, Read(attacks.TASKS)])
    last = talk.conversations[-1]
    assert "import mine" in (shop.root / "gate/rules/pace.py").read_text("utf-8")
    assert "as it was copied" in (last.answer(look) or "")
    assert [word for word in secrets_of(shop) if word in talk.everything_sent()] == []
