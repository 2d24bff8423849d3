"""The page on adding a world holds a whole world: its files, as they stand there, are played.

From their folder in a process of the world's own and in this one, and registered, as the page
says, in a copy of the packages, where the conformance checks of every world run over them.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gate.contract import knobs
from tests.conformance import env_suite
from tests.conformance.env_suite import STYLES, Cast
from tests.project import tree
from trainer.episode import Episode, StopReason
from trainer.message import Action, Reply
from trainer.rollout.scripted import play, world_seed
from trainer.task import Task
from trainer.users import rule_file
from trainer.users.symbolic import SymbolicUser
from trainer.worlds.calls import Act, Call, Hear, Host, Judge, Start
from trainer.worlds.catalog import SPLITS, World
from trainer.worlds.declaration import NEVER_EDITABLE, read_declaration
from trainer.worlds.gold import read_gold
from trainer.worlds.host import WorldHost
from trainer.worlds.loading import forget, load_world, verifier_of
from trainer.worlds.local import LocalHost
from trainer.worlds.seam import Opening, StepResult, Verdict

PAGE = Path("docs/adding-a-world.md")
NAME = "teatime"
FILES = (
    "world.yaml", "verifier.py", "env.py", "user.yaml", "tasks/train.jsonl",
    "evaluation/tasks.jsonl", "loader.py", "oracle.py", "gold/verdicts.jsonl",
)  # fmt: skip
MAX_PAGE_LINES = 250
MAX_LINE_CHARS = 100
CANARY = "EAU-EVALUATION-"

_FILE = re.compile(r"^### \d+\. `([^`]+)`\n.*?^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^from trainer\.worlds\.teatime.*?(?=^```$)", re.MULTILINE | re.DOTALL)
_RECIPE_LINE = re.compile(r"`(worlds: \{teatime: [^`]*)`")

Answer = TypeVar("Answer")


def page() -> str:
    """Return the page's text."""
    return (tree.CHECKOUT / PAGE).read_text("utf-8")


def write_files(folder: Path) -> Path:
    """Write every file of the page below a folder; returns the folder."""
    for name, content in _FILE.findall(page()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return folder


@dataclass(frozen=True)
class HostedEnv:
    """An episode that a host runs, as an `Env`."""

    host: Host
    key: str

    def start(self) -> Opening:
        """Ask for the opening."""
        return self._ask(Start(), Opening)

    def act(self, action: Action) -> StepResult:
        """Pass a move on."""
        return self._ask(Act(action), StepResult)

    def hear(self, reply: Reply) -> StepResult:
        """Pass a reply on."""
        return self._ask(Hear(reply), StepResult)

    def verdict(self) -> Verdict:
        """Ask for the verdict."""
        return self._ask(Judge(), Verdict)

    def _ask(self, call: Call, kind: type[Answer]) -> Answer:
        result = self.host.call({self.key: call}, deadline_s=30.0)[self.key]
        assert isinstance(result, kind), result
        return result


@pytest.fixture(scope="module")
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    """The page's world, loaded from a folder, with its user and its players."""
    folder = write_files(tmp_path_factory.mktemp("page") / NAME)
    module = load_world(folder)
    package = str(module.__package__)
    loader = importlib.import_module(f"{package}.loader")
    players = importlib.import_module(f"{package}.oracle").PLAYERS
    yield Cast(
        name=NAME,
        world=World(folder, loader.load, players),
        module=module,
        declaration=read_declaration(folder),
        user=SymbolicUser({NAME: rule_file.load(folder / rule_file.FILE_NAME)}),
        user_settings=knobs.defaults().file("user", NAME),
    )
    forget(package)


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages and their tests in which the world is registered as the page says."""
    root = tmp_path_factory.mktemp("registered")
    for path in tree.files():
        if path.parts[0] in (*tree.PACKAGES, "tests", "pyproject.toml"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree.CHECKOUT / path, root / path)
    folder = write_files(root / "trainer" / "worlds" / NAME)
    (folder / "__init__.py").write_text('"""The teatime world."""\n', "utf-8")
    found = _ENTRY.search(page())
    assert found is not None, "the page shows what to add to the catalog"
    *imports, _, entry = found.group().strip("\n").splitlines()
    catalog = root / "trainer" / "worlds" / "catalog.py"
    text = catalog.read_text("utf-8")
    text = text.replace("\nSPLITS =", "\n".join(["", *imports, "", "SPLITS ="]), 1)
    text = re.sub(r"^(WORLDS: .*\{\n)", rf"\g<1>{entry}\n", text, count=1, flags=re.MULTILINE)
    catalog.write_text(text, "utf-8")
    return root


def in_copy(root: Path, *arguments: str) -> str:
    """Run Python in the copy of the packages; returns what it printed."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
    child = subprocess.run(
        [sys.executable, "-B", *arguments],
        cwd=root,
        env={**environment, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert child.returncode == 0, child.stdout + child.stderr
    return child.stdout


def hosted(cast: Cast, host: Host, task: Task, player: str, seed: int = 1) -> Episode:
    """Return an episode of a scripted player in a world that a host runs."""
    settings: dict[str, Any] = cast.settings("full")
    key = f"{task.id}-{player}"
    host.open(key, task, settings=settings, seed=world_seed(seed))
    episode = play(
        task,
        cast.world.players[player](task, settings=settings, seed=seed),
        env=HostedEnv(host, key),
        user=cast.user,
        user_settings=cast.user_settings,
        max_steps=cast.declaration.turn_limit,
        seed=seed,
    )
    host.close([key])
    return episode


def every_task(cast: Cast) -> list[Task]:
    return [task for split in SPLITS for task in cast.world.load(split)]


def test_the_page_holds_every_file_once_and_stays_short() -> None:
    assert tuple(name for name, _ in _FILE.findall(page())) == FILES
    assert page().count("\n```") == 2 * (len(FILES) + 1), "a block without a file's name"
    assert len(page().splitlines()) < MAX_PAGE_LINES
    lines = [line for line in page().splitlines() if not line.startswith("{")]
    assert [line for line in lines if len(line) > MAX_LINE_CHARS] == []


def test_its_code_passes_the_linter_and_is_formatted(tmp_path: Path) -> None:
    folder = write_files(tmp_path / NAME)
    ruff = Path(sys.executable).parent / "ruff"
    config = f"--config={tree.CHECKOUT / 'pyproject.toml'}"
    for command in (["check"], ["format", "--check"]):
        child = subprocess.run(
            [ruff, *command, config, "--no-cache", folder],
            capture_output=True,
            text=True,
            check=False,
        )
        assert child.returncode == 0, child.stdout + child.stderr


def test_its_world_plays_alike_here_and_in_a_process_of_its_own(cast: Cast) -> None:
    folders = {NAME: cast.world.folder}
    with WorldHost(folders) as apart, LocalHost(folders) as here:
        assert apart.check(NAME) is None
        for task in every_task(cast):
            for player in cast.world.players:
                episode = hosted(cast, apart, task, player)
                assert episode == hosted(cast, here, task, player) == cast.play(task, player)


def test_in_a_process_its_expert_earns_everything_and_its_idler_nothing(cast: Cast) -> None:
    with WorldHost({NAME: cast.world.folder}) as host:
        for task in every_task(cast):
            best = hosted(cast, host, task, "oracle")
            assert (best.stop, best.success) == (StopReason.SOLVED, 1.0)
            assert best.total_reward == 1.0
            idle = hosted(cast, host, task, "idle")
            assert (idle.stop, idle.success) == (StopReason.OUT_OF_STEPS, 0.0)
            assert idle.total_reward == 0.0


@pytest.mark.parametrize("style", STYLES)
def test_its_folder_keeps_what_a_world_promises(cast: Cast, style: str) -> None:
    for task in every_task(cast):
        env_suite.starts_first_and_once(cast, task)
        env_suite.is_deterministic(cast, task, style)
        env_suite.survives_hostile_actions(cast, task)
        env_suite.judges_an_untouched_state(cast, task)
        env_suite.refuses_facts_of_other_tasks(cast, task)
        env_suite.pays_each_fact_once(cast, task)
        env_suite.is_reachable(cast, task, style)
        env_suite.has_a_floor(cast, task)
        for player in cast.world.players:
            episode = cast.play(task, player, style=style, seed=3, volunteer_after=2)
            env_suite.keeps_its_declaration(cast, episode)
            env_suite.hides_what_was_not_told(cast, task, episode)
            env_suite.agrees_with_its_records(cast, task, episode)


def test_its_players_differ(cast: Cast) -> None:
    hasty = [
        cast.play(task, "hasty", seed=seed).success for task in every_task(cast) for seed in (1, 2)
    ]
    assert 0.0 in hasty


def test_its_verifier_agrees_with_its_gold_verdicts(cast: Cast) -> None:
    for gold in read_gold(cast.world.folder):
        verdict = verifier_of(cast.module).rejudge(gold.task, gold.turns)
        assert (verdict.success, verdict.metrics) == (gold.success, gold.metrics), gold.why


def test_every_event_it_declares_can_happen_and_what_is_editable_is_there(cast: Cast) -> None:
    code = (cast.world.folder / "env.py").read_text("utf-8")
    assert [event for event in cast.declaration.events if f'"{event}"' not in code] == []
    for path in cast.declaration.editable:
        assert path.split("/")[0] not in NEVER_EDITABLE
        assert path.endswith("/") or (cast.world.folder / path).is_file()


def test_its_evaluation_records_alone_carry_the_canary(cast: Cast) -> None:
    for name in FILES:
        lines = (cast.world.folder / name).read_text("utf-8").splitlines()
        held = name == "evaluation/tasks.jsonl"
        assert all((CANARY in line) == held for line in lines), name


def test_registered_as_the_page_says_it_is_listed_with_maximum_and_floor(registered: Path) -> None:
    told = in_copy(registered, "-m", "trainer", "worlds", "--world", NAME, "--json")
    (listed,) = json.loads(told)
    assert listed["row"]["world"] == NAME
    assert (listed["oracle"], listed["floor"]) == (1.0, 0.0)


def test_registered_a_recipe_may_name_it(registered: Path) -> None:
    (line,) = _RECIPE_LINE.findall(page())
    (registered / "teatime-run.yaml").write_text(f"extends: ppo\n{line}\n", "utf-8")
    script = (
        "from trainer import preflight, recipe_file\n"
        "config = recipe_file.load('teatime-run.yaml')\n"
        "print(list(config.worlds), list(preflight.faults(config)))"
    )
    assert in_copy(registered, "-c", script).strip() == f"['{NAME}'] []"


def test_registered_it_passes_the_conformance_checks_of_every_world(registered: Path) -> None:
    named = ["tests/conformance", "tests/trainer/worlds/test_catalog.py"]
    assert f"`pytest {' '.join(named)} -k {NAME}`" in page()
    told = in_copy(registered, "-m", "pytest", "-q", "-p", "no:cacheprovider", *named, "-k", NAME)
    passed = re.search(r"(\d+) passed", told)
    assert passed is not None and int(passed.group(1)) >= 20, told
    assert "failed" not in told and "skipped" not in told
