"""An unmodified client finds the project's instructions and its skill, and reads a run by it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from skill import front_matter
from tests.agents import clients, keeper, workshop
from tests.agents.clients import Client
from tests.agents.conftest import installed
from tests.agents.conversation import Shell, UseSkill, in_turn, json_in
from tests.agents.scripted_model import ScriptedModel, serving
from tests.agents.workshop import Workshop
from tests.project import tree
from tests.skill import recorded

pytestmark = pytest.mark.agents

SKILL = UseSkill("eau-meta-agent")
STATUS = Shell(".venv/bin/python skill/eau-meta-agent/scripts/status.py small --json")
PROMPT = "Use the eau-meta-agent skill on runs/small: how is it?"
PAGE = (tree.CHECKOUT / "skill/eau-meta-agent/SKILL.md").read_text("utf-8")


@dataclass(frozen=True)
class Session:
    """One session of a client that looked at a recorded run."""

    client: Client
    model: ScriptedModel
    outcome: keeper.Outcome
    before: Mapping[str, str]
    """Digests of the files of its checkout."""
    after: Mapping[str, str]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A checkout with a recorded run."""
    shop = Workshop(tmp_path_factory.mktemp("discovery") / "checkout")
    records = {"steps": recorded.steps(20), "episodes": recorded.mixed(32)}
    recorded.write(shop.run("small").root, **records, status={"step": 20})
    return shop


@pytest.fixture(scope="module")
def session(client: Client, shop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session that loads the skill and asks how the run is."""
    return look(client, shop, tmp_path_factory.mktemp(client.name))


def look(client: Client, shop: Workshop, home: Path, *, model_name: str | None = None) -> Session:
    before = shop.contents()
    with serving(in_turn(SKILL, STATUS)) as model:
        outcome = clients.ask(
            client, PROMPT, cwd=shop.root, home=home, model=model, model_name=model_name
        )
    assert outcome.code == 0, outcome.told()
    return Session(client, model, outcome, before, shop.contents())


def test_the_program_is_the_pinned_one(client: Client) -> None:
    told = subprocess.run([str(client.program), "--version"], capture_output=True, text=True)
    assert client.version in told.stdout.split() + told.stdout.split("-")


def test_the_projects_instructions_reach_the_model(session: Session) -> None:
    page = (tree.CHECKOUT / "AGENTS.md").read_text("utf-8")
    rules = page.split("## Twelve rules")[1].splitlines()
    first = session.model.conversations[0].text
    assert [line for line in rules if line not in first] == []


def test_the_skill_is_on_offer_by_its_description_alone(session: Session) -> None:
    described, body = front_matter.split("SKILL.md", PAGE)
    first = session.model.conversations[0].text
    assert described.split("description: ")[1].strip() in first
    assert body.splitlines()[3] not in first, "the page is loaded when it is asked for"


def test_the_page_of_the_skill_is_loaded_whole(session: Session) -> None:
    _, body = front_matter.split("SKILL.md", PAGE)
    assert body.strip() in session.model.conversations[1].text


def test_the_state_of_the_run_is_read_by_the_skills_script(session: Session) -> None:
    found = json_in(session.model.conversations[-1].answer(STATUS) or "")
    assert found["run"] == "small"
    assert (found["blame"]["episodes"], found["blame"]["failed"]) == (32, 16)
    assert found["health"]["step"] == 20


def test_looking_changes_nothing_and_leaves_nobody_behind(session: Session) -> None:
    assert workshop.changed(session.before, session.after) == set()
    assert [one for one in session.outcome.left if clients.FORGOTTEN not in one] == []


def test_no_other_host_is_asked(session: Session) -> None:
    assert session.model.wanted == []


def test_codex_works_the_same_where_its_model_writes_programs(
    shop: Workshop, tmp_path: Path
) -> None:
    session = look(installed("codex"), shop, tmp_path, model_name=clients.PROGRAMS_OF_CODEX)
    tools = session.model.conversations[0].tools
    assert "exec" in tools and "exec_command" not in tools
    found = json_in(session.model.conversations[-1].answer(STATUS) or "")
    assert found["health"]["step"] == 20
