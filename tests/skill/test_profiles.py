"""Whoever starts a client by hand in the checkout has the fence of a supervised tick."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from skill.proposing import Autonomy
from skill.supervisor import agents, hook, profiles
from skill.supervisor.agents import Setting
from tests import live_run
from tests.project.tree import CHECKOUT


@pytest.mark.parametrize("path", [profiles.CLAUDE, profiles.CODEX])
def test_the_files_in_the_checkout_are_what_the_code_says(path: Path) -> None:
    assert (CHECKOUT / path).read_text("utf-8") == profiles.files(CHECKOUT)[path], (
        "write skill.supervisor.profiles.files(checkout) anew"
    )


def test_claude_may_write_its_own_folders_and_read_no_evaluation() -> None:
    settings = json.loads((CHECKOUT / profiles.CLAUDE).read_text("utf-8"))
    rules = settings["permissions"]
    edits = [rule for rule in rules["allow"] if rule.startswith("Edit(")]
    assert edits == ["Edit(runs/*/candidate/**)", "Edit(experience/**)"]
    assert [rule for rule in rules["allow"] if "-m skill" in rule] == [], "it can start anything"
    for closed in (profiles.TASKS, profiles.RESULTS, ".git"):
        assert {f"Read({closed}/**)", f"Edit({closed}/**)"} <= set(rules["deny"])
    hidden = settings["sandbox"]["filesystem"]["denyRead"]
    tasks = {f"./{path.relative_to(CHECKOUT)}" for path in CHECKOUT.glob(profiles.TASKS)}
    assert tasks and tasks <= set(hidden) and "./.git" in hidden


def test_codex_may_write_its_three_folders_and_read_no_evaluation() -> None:
    values = tomllib.loads((CHECKOUT / profiles.CODEX).read_text("utf-8"))
    rules = values["permissions"][values["default_permissions"]]["filesystem"][":workspace_roots"]
    written = {path for path, what in rules.items() if what == "write"}
    assert written == {"experience", "runs/latest/candidate", "runs/latest/proposals"}
    assert rules["."] == "read" and rules["trainer/worlds/*/evaluation/**"] == "deny"


def setting(tmp_path: Path, *, held: bool, autonomy: Autonomy = Autonomy.ACT) -> Setting:
    run = live_run.launch(tmp_path / "checkout" / "runs" / "a")
    root = tmp_path / "checkout"
    pool = root / "experience"
    return Setting(run, root, tmp_path / "scratch", "look", autonomy, held, pool)


def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("claude", "codex"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")


def test_without_a_kernel_fence_claude_may_only_run_the_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, monkeypatch)
    words = agents.words("claude", setting(tmp_path / "loose", held=False))
    allowed = words[words.index("--allowedTools") + 1].split(",")
    assert "Bash" not in allowed and any(one.startswith("Bash(.venv") for one in allowed)
    words = agents.words("claude", setting(tmp_path / "held", held=True))
    assert "Bash" in words[words.index("--allowedTools") + 1].split(",")
    assert json.loads(words[words.index("--settings") + 1])["sandbox"] == {"enabled": False}


@pytest.mark.parametrize("held", [True, False])
def test_the_switch_of_a_person_who_develops_here_does_not_reach_a_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: bool
) -> None:
    installed(tmp_path, monkeypatch)
    words = agents.words("claude", setting(tmp_path, held=held))
    assert json.loads(words[words.index("--settings") + 1])["env"] == {hook.SWITCH: "on"}


def test_a_tick_of_codex_has_a_profile_of_its_own_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, monkeypatch)
    own = tmp_path / "me" / ".codex"
    own.mkdir(parents=True)
    (own / "config.toml").write_text('model = "m"\n[projects."/x"]\ntrust_level = "trusted"\n')
    made = setting(tmp_path, held=False)
    agents.furnish(made, {"HOME": str(tmp_path / "me")})
    values: dict[str, Any] = tomllib.loads(
        (made.scratch / "home" / ".codex" / "config.toml").read_text("utf-8")
    )
    rules = values["permissions"][agents.PROFILE]["filesystem"][":workspace_roots"]
    assert values["model"] == "m" and rules["runs/a/candidate"] == "write"
    assert f'default_permissions="{agents.PROFILE}"' in agents.words("codex", made)


def test_renewed_credentials_come_home_and_nothing_else_does(tmp_path: Path) -> None:
    home = tmp_path / "me"
    (home / ".claude").mkdir(parents=True)
    kept = home / ".claude" / ".credentials.json"
    kept.write_text('{"token": "old"}')
    made = setting(tmp_path, held=True)
    agents.furnish(made, {"HOME": str(home)})
    copy = made.scratch / "home" / ".claude" / ".credentials.json"
    assert json.loads(copy.read_text()) == {"token": "old"}
    copy.write_text('{"token": "new"}')
    (made.scratch / "home" / ".claude" / "settings.json").write_text("{}")
    agents.bring_home(made, {"HOME": str(home)})
    assert json.loads(kept.read_text()) == {"token": "new"}
    for content in ("[]", "no json", '{"other": 1}'):
        copy.write_text(content)
        agents.bring_home(made, {"HOME": str(home)})
    assert json.loads(kept.read_text()) == {"token": "new"}
    assert [path.name for path in (home / ".claude").iterdir()] == [".credentials.json"]


def test_entering_by_hand_is_held_too(tmp_path: Path) -> None:
    run = live_run.launch(tmp_path / "runs" / "a")
    (run.root / "run.yaml").write_text("attempt: 1\n")
    attack = (
        "ls trainer/worlds/travel/evaluation; touch gate/x; touch $EAU_RUN/knobs/x;"
        "touch $EAU_RUN/candidate/yes; exit 5"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "skill", "enter", str(run.root), "--", "sh", "-c", attack],
        cwd=CHECKOUT,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "no kernel fence" in ended.stderr:
        pytest.skip(ended.stderr.strip())
    assert (ended.returncode, ended.stdout) == (5, "")
    assert ended.stderr.count("Read-only file system") == 2
    assert (run.candidate / "yes").exists() and not (CHECKOUT / "gate" / "x").exists()
