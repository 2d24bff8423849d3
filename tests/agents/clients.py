"""The unmodified clients: where they are installed, how one bounded headless session is started.

A client gets an environment of its own, with nothing of the caller's in it, a home of its own and
a key that opens nothing; its model is a `ScriptedModel`, and every other host is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.agents import keeper
from tests.agents.scripted_model import ScriptedModel

CHECKOUT = Path(__file__).resolve().parents[2]
PINS = Path(__file__).parent / "clients" / "package.json"
FOLDER = Path(os.environ.get("EAU_CLIENTS") or CHECKOUT / ".clients")
"""Where `make test-agents` puts them; git ignores it."""
WHY_NOT = FOLDER / "why-not.txt"
"""Why they could not be installed, in a sentence."""
PATH = "/usr/local/bin:/usr/bin:/bin"
KEY = "opens-nothing"
FORGOTTEN = "--codex-run-as-fs-helper"
"""In the command line of the one process that Codex, one session in about sixty, leaves behind."""
TIMEOUT_S = 60.0
"""Seconds of one session; one of five calls takes two to five."""


class Leave(StrEnum):
    """What a person lets a client do."""

    SCRIPTS = "scripts"
    """Run the skill's scripts and read, as where nobody is there to be asked."""
    PROFILE = "profile"
    """What the profile in the checkout says, which the person trusts."""
    ALL = "all"
    """Whatever the client allows at all."""


@dataclass(frozen=True)
class Client:
    """One coding agent."""

    name: str
    """Its command, as a person types it."""
    package: str
    """On npm."""
    pattern: str
    """Where its own program lies in the package of the platform."""
    model_name: str
    """The model that it asks for, which decides in part what it offers."""
    settings: Callable[[Path, str, str], Mapping[str, str]]
    """Given its home, its model's address and name: writes files, returns variables."""
    words: Callable[[str, str, Leave], Sequence[str]]
    """Given a prompt, a model's name and what it may do: the arguments of a headless session."""
    trust: Callable[[Path, Path], None]
    """Given its home and a folder: has it trust the folder, as a person does who is asked."""

    @property
    def version(self) -> str:
        """The version that the tests are pinned to."""
        return json.loads(PINS.read_text("utf-8"))["dependencies"][self.package]

    @property
    def program(self) -> Path | None:
        """Its program; None if it is not installed for this platform."""
        found = sorted((FOLDER / "node_modules").glob(self.pattern))
        return found[0] if found else None


def environment(
    client: Client, home: Path, model: ScriptedModel, *, model_name: str | None = None
) -> dict[str, str]:
    """Return the whole environment of a client, its settings written.

    Args:
        client: Which one.
        home: Its home, made if need be; a link there named as the client leads to its program.
        model: What it talks to, also in place of every other host.
        model_name: Another model than the client's usual one.
    """
    assert client.program is not None
    commands = home / "bin"
    commands.mkdir(parents=True, exist_ok=True)
    if not (commands / client.name).is_symlink():
        (commands / client.name).symlink_to(client.program)
    return {
        "HOME": str(home),
        "PATH": f"{commands}:{PATH}",
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "HTTPS_PROXY": model.address,
        "HTTP_PROXY": model.address,
        "NO_PROXY": "127.0.0.1,localhost",
        **client.settings(home, model.address, model_name or client.model_name),
    }


def ask(
    client: Client,
    prompt: str,
    *,
    cwd: Path,
    home: Path,
    model: ScriptedModel,
    model_name: str | None = None,
    leave: Leave = Leave.SCRIPTS,
    inside: Sequence[str] = (),
) -> keeper.Outcome:
    """Have a client work on one prompt to its end.

    Args:
        client: Which one.
        prompt: What a person would type.
        cwd: The checkout it is started in.
        home: Its home.
        model: What it talks to.
        model_name: Another model than the client's usual one.
        leave: What it may do.
        inside: The words of a program that becomes the client.
    """
    env = environment(client, home, model, model_name=model_name)
    if leave is Leave.PROFILE:
        client.trust(home, cwd)
    words = client.words(prompt, model_name or client.model_name, leave)
    command = [*inside, str(home / "bin" / client.name), *words]
    return keeper.run(command, cwd=cwd, env=env, timeout_s=TIMEOUT_S)


def _settings_of_claude(home: Path, address: str, model_name: str) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_MODEL": model_name,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def _words_of_claude(prompt: str, model_name: str, leave: Leave) -> Sequence[str]:
    mode = "acceptEdits" if leave is Leave.ALL else "dontAsk"
    allowed: Mapping[Leave, Sequence[str]] = {
        Leave.SCRIPTS: ("Skill", "Bash(.venv/bin/python skill/eau-meta-agent/scripts/*)"),
        Leave.PROFILE: (),
        Leave.ALL: ("Skill", "Bash", "Edit", "Read", "Write"),
    }
    more = ("--allowedTools", *allowed[leave]) if allowed[leave] else ()
    told = ("--output-format", "json", "--model", model_name, "--max-turns", "80")
    return ("-p", prompt, *told, "--permission-mode", mode, *more)


def _trust_of_claude(home: Path, folder: Path) -> None:
    trusted = {"projects": {str(folder): {"hasTrustDialogAccepted": True}}}
    (home / ".claude.json").write_text(json.dumps(trusted))


_CONFIG_OF_CODEX = """\
model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
[model_providers.scripted]
name = "scripted"
base_url = "{address}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"""
PROGRAMS_OF_CODEX = "gpt-6.2-sol"
"""A model to which Codex offers one tool that takes a program, as it does by default."""


def _settings_of_codex(home: Path, address: str, model_name: str) -> Mapping[str, str]:
    folder = home / ".codex"
    folder.mkdir(exist_ok=True)
    config = _CONFIG_OF_CODEX.format(model=model_name, address=address)
    (folder / "config.toml").write_text(config)
    return {"CODEX_HOME": str(folder), "OPENAI_API_KEY": KEY}


def _words_of_codex(prompt: str, _: str, leave: Leave) -> Sequence[str]:
    free = ("--sandbox", "danger-full-access") if leave is Leave.ALL else ()
    # Where the fence hides the history, the folder is no repository.
    return ("exec", "--json", "--skip-git-repo-check", *free, prompt)


def _trust_of_codex(home: Path, folder: Path) -> None:
    with (home / ".codex" / "config.toml").open("a") as file:
        file.write(f'[projects."{folder}"]\ntrust_level = "trusted"\n')


CLAUDE = Client(
    "claude",
    "@anthropic-ai/claude-code",
    "@anthropic-ai/claude-code-*/claude",
    "claude-sonnet-4-5",
    _settings_of_claude,
    _words_of_claude,
    _trust_of_claude,
)
CODEX = Client(
    "codex",
    "@openai/codex",
    "@openai/codex-*/vendor/*/bin/codex",
    "gpt-5.5",
    _settings_of_codex,
    _words_of_codex,
    _trust_of_codex,
)
CLIENTS: Mapping[str, Client] = {client.name: client for client in (CLAUDE, CODEX)}
