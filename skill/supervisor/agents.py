"""Agents: how each kind of meta-agent is started for one tick, and what its output says of cost.

Every tick is a fresh session with a home of its own that holds copies of the client's credentials
and goes with the tick. Where the kernel holds no fence, the clients' own permission profiles do
what they can. Nothing here starts a process.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.contract import files
from gate.contract.paths import RunPaths
from skill.commands.lesson import EXPERIENCE
from skill.proposing import AUTONOMY, Autonomy
from skill.supervisor import profiles
from skill.supervisor.hook import SWITCH

BUILT_IN = ("claude", "codex", "operator", "naive")

PROFILE = "eau-tick"
"""Codex's profile of one tick; a name of its own, since profiles of one name add up."""

_PASSED = frozenset(
    "PATH LANG LC_ALL TZ TERM USER LOGNAME SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS "
    "HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy "
    "OMP_NUM_THREADS OMP_WAIT_POLICY HF_HUB_OFFLINE".split()
)
_PASSED_BY_PREFIX = ("ANTHROPIC_", "CLAUDE_CODE_", "OPENAI_", "DISABLE_")
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")
SHORTEST_SECRET = 6
"""Characters; a shorter value is no secret, and would be struck out of ordinary words."""

LARGEST_CREDENTIALS = 64 * 1024

_CREDENTIALS = (".claude/.credentials.json", ".claude.json", ".codex/auth.json")


class UnknownAgent(ValueError):
    """A meta-agent that cannot be started; says what is missing."""


@dataclass(frozen=True)
class Setting:
    """What a tick is about and where."""

    run: RunPaths
    checkout: Path
    scratch: Path
    """A folder that goes with the tick: `home` and `tmp` lie in it."""
    prompt: str
    autonomy: Autonomy
    held: bool
    """Whether the kernel holds the fence."""
    experience: Path
    """The folder that holds the pool of lessons."""
    evaluation: tuple[str, ...] = ()
    """Folders with evaluation tasks, relative to the checkout."""
    most_usd: float | None = None
    seed: int = 0


def needs_network(agent: str) -> bool:
    """Return whether an agent talks to a model elsewhere; a command may."""
    return agent not in ("operator", "naive")


def words(agent: str, setting: Setting) -> list[str]:
    """Return the command of an agent for one tick.

    Args:
        agent: One of `BUILT_IN`, or a command in which `{run}`, `{checkout}` and `{prompt}` stand
            for their values.
        setting: What it is about.

    Raises:
        UnknownAgent: if its program is not installed, or the command is none.
    """
    run = os.fspath(setting.run.root.resolve())
    python = [sys.executable, "-m", "skill"]
    if agent == "operator":
        return [*python, "operator", run, "--json"]
    if agent == "naive":
        return [*python, "naive", run, "--seed", str(setting.seed), "--json"]
    if agent in ("claude", "codex"):
        if shutil.which(agent) is None:
            raise UnknownAgent(f"{agent} is not on the PATH; install it, or use --agent operator")
        return _claude(setting) if agent == "claude" else _codex(setting)
    try:
        given = shlex.split(agent)
    except ValueError as error:
        raise UnknownAgent(f"--agent {agent!r} is no command: {error}") from error
    if not given or shutil.which(given[0]) is None:
        known = ", ".join(BUILT_IN)
        raise UnknownAgent(f"--agent {agent!r}: no such program; use {known} or a command")
    named = {"{run}": run, "{checkout}": os.fspath(setting.checkout), "{prompt}": setting.prompt}
    return [_filled(word, named) for word in given]


def environment(
    setting: Setting, given: Mapping[str, str], *, passed: Iterable[str] = ()
) -> dict[str, str]:
    """Return the whole environment of a tick: what a client needs, and no other secret.

    Args:
        setting: What the tick is about.
        given: The supervisor's own environment.
        passed: Further names that a person lets through.
    """
    extra = frozenset(passed)
    kept = {
        name: value
        for name, value in given.items()
        if name in _PASSED or name in extra or name.startswith(_PASSED_BY_PREFIX)
    }
    return kept | {
        "HOME": os.fspath(setting.scratch / "home"),
        "CODEX_HOME": os.fspath(setting.scratch / "home" / ".codex"),
        "TMPDIR": os.fspath(setting.scratch / "tmp"),
        "PYTHONPATH": os.fspath(setting.checkout),
        "PYTHONDONTWRITEBYTECODE": "1",
        "EAU_RUN": os.fspath(setting.run.root.resolve()),
        AUTONOMY: setting.autonomy.value,
        EXPERIENCE: os.fspath(setting.experience),
    }


def furnish(setting: Setting, given: Mapping[str, str]) -> None:
    """Make a tick's home, with copies of credentials and the client's profile.

    Args:
        setting: What the tick is about.
        given: The supervisor's own environment, which says where its home is.
    """
    home = setting.scratch / "home"
    # Codex hides the folder of results by a mount, and cannot make the place for it itself.
    results = home / profiles.RESULTS.removeprefix("~/")
    for folder in (home / ".claude", home / ".codex", results, setting.scratch / "tmp"):
        folder.mkdir(parents=True, mode=0o700)
    own = Path(given.get("HOME") or Path.home())
    for name in _CREDENTIALS:
        _copy(own / name, home / name)
    codex = Path(given.get("CODEX_HOME") or own / ".codex")
    _copy(codex / "auth.json", home / ".codex" / "auth.json")
    _copy(codex / "config.toml", home / ".codex" / "config.toml")
    with (home / ".codex" / "config.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{_codex_profile(setting)}")


def bring_home(setting: Setting, given: Mapping[str, str]) -> None:
    """Keep credentials that the client renewed: an old token may be void after that.

    Only what is a small JSON object with the keys that it had before goes back.

    Args:
        setting: What the tick was about.
        given: The supervisor's own environment, which says where its home is.
    """
    home = setting.scratch / "home"
    own = Path(given.get("HOME") or Path.home())
    codex = Path(given.get("CODEX_HOME") or own / ".codex")
    renewed = {own / _CREDENTIALS[0]: home / _CREDENTIALS[0]}
    renewed[codex / "auth.json"] = home / ".codex" / "auth.json"
    for kept, new in renewed.items():
        try:
            before = json.loads(files.read_plain(kept, most=LARGEST_CREDENTIALS))
            content = files.read_plain(new, most=LARGEST_CREDENTIALS)
            after = json.loads(content)
        except (OSError, ValueError, RecursionError):
            continue
        same = (
            isinstance(after, dict) and isinstance(before, dict) and after.keys() == before.keys()
        )
        if same and after != before:
            files.write_whole(kept, content)


def redacted(output: str, passed_on: Mapping[str, str]) -> str:
    """Return an output without the secrets that the agent was given.

    Args:
        output: What it printed.
        passed_on: Its environment.
    """
    for name, value in passed_on.items():
        if any(word in name for word in _SECRET) and len(value) >= SHORTEST_SECRET:
            output = output.replace(value, f"[{name}]")
    return output


def cost_usd(output: str) -> float | None:
    """Return what a session says that it cost, in US dollars; None where it says nothing.

    Claude Code counts over a session, so the largest number is the whole.
    """
    found = [
        float(value)
        for record in _records(output)
        for key in ("total_cost_usd", "cost_usd")
        if isinstance(value := record.get(key), int | float) and 0 <= value < 1e6
    ]
    return max(found, default=None)


def last_words(output: str, *, most: int = 4000) -> str:
    """Return what an agent reported in the end: its result, or the end of what it printed."""
    for record in reversed(list(_records(output))):
        said = record.get("result") or record.get("because")
        item = record.get("item")
        if said is None and isinstance(item, dict):
            said = item.get("text")
        if isinstance(said, str) and said.strip():
            return said.strip()[-most:]
    return output.strip()[-most:]


def _claude(setting: Setting) -> list[str]:
    mine = [f"/{folder.resolve()}/**" for folder in _own(setting)]
    allowed = ["Read", "Skill", *(f"{tool}({path})" for path in mine for tool in ("Edit", "Write"))]
    allowed += ["Bash"] if setting.held else [f"Bash({one}*)" for one in profiles.COMMANDS]
    denied = [f"{tool}({path}/**)" for path in setting.evaluation for tool in ("Read", "Edit")]
    settings = json.dumps(
        # The switch of the person who develops here is not the tick's. Its sandbox cannot be made
        # inside the outer fence, which holds already.
        {"permissions": {"deny": denied}, "env": {SWITCH: "on"}}
        | ({"sandbox": {"enabled": False}} if setting.held else {})
    )
    command = ["claude", "-p", setting.prompt, "--output-format", "stream-json", "--verbose"]
    command += ["--permission-mode", "dontAsk", "--settings", settings, "--max-turns", "80"]
    command += ["--allowedTools", ",".join(allowed)]
    if setting.most_usd is not None:
        command += ["--max-budget-usd", f"{setting.most_usd:g}"]
    return command


def _codex(setting: Setting) -> list[str]:
    command = ["codex", "exec", "--json", "--skip-git-repo-check", "-C", str(setting.checkout)]
    # A sandbox inside the outer fence cannot be made by root without powers; the outer one holds.
    if setting.held:
        command += ["--sandbox", "danger-full-access"]
    else:
        command += ["-c", f'default_permissions="{PROFILE}"']
    return [*command, setting.prompt]


def _codex_profile(setting: Setting) -> str:
    """Return the permission profile of a tick, with the folders of its own run."""
    root = setting.checkout.resolve()
    mine = [folder.resolve() for folder in _own(setting)]
    inside = [folder.relative_to(root) for folder in mine if folder.is_relative_to(root)]
    return profiles.codex(PROFILE, [path.as_posix() for path in inside])


def _own(setting: Setting) -> list[Path]:
    if setting.autonomy is Autonomy.WATCH:
        return []
    run = setting.run
    return [run.candidate, run.proposals, setting.experience]


def _filled(word: str, named: Mapping[str, str]) -> str:
    for name, value in named.items():
        word = word.replace(name, value)
    return word


def _copy(source: Path, target: Path) -> None:
    if source.is_file():
        shutil.copyfile(source, target)
        target.chmod(0o600)


def _records(output: str) -> Iterable[dict[str, Any]]:
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
