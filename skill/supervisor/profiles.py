"""Profiles: the fence in the clients' own words, for a person who starts one by hand.

`.claude/settings.json` and `.codex/config.toml` are made from here, and a test holds them to it.
Codex enforces its profile by the kernel. Claude Code's calls are decided one by one by a hook
(`skill.supervisor.hook`), and its sandbox, where bubblewrap and socat are installed, guards its
commands as well. A supervised tick does not lean on either where it has a fence of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from skill.supervisor.belongings import CODE, PAGES

RESULTS = "~/.local/share/eau/evaluations"
TASKS = "trainer/worlds/*/evaluation"
CLAUDE, CODEX = Path(".claude/settings.json"), Path(".codex/config.toml")

HOOK = (
    'cd "$CLAUDE_PROJECT_DIR" && .venv/bin/python -ESsB -m skill.supervisor.hook'
    " || { [ $? = 2 ] || echo 'the fence could not be asked: run make install' >&2; exit 2; }"
)
"""Every exit status but 0 becomes 2: to Claude Code any other is leave to go on."""
COMMANDS = (
    ".venv/bin/python skill/eau-meta-agent/scripts/",
    ".venv/bin/python -m gate check ",
    ".venv/bin/python -m gate log ",
)
"""How commands begin that a client may run where no kernel holds it. `python -m skill` is not among
them: it can start a supervisor, and that any program."""


def claude(evaluation: Sequence[str]) -> str:
    """Return the text of `.claude/settings.json`.

    Args:
        evaluation: Folders with evaluation tasks, relative to the checkout.
    """
    closed = [*CODE, ".git"]
    # A rule that denies cannot be lifted by a person's own settings, so these are the few that hold
    # for everybody; what a meta-agent alone must not do is the hook's to refuse.
    denied = [f"{tool}({path}/**)" for tool in ("Read", "Edit") for path in (TASKS, RESULTS)]
    denied += ["Read(.git/**)", "Edit(.git/**)"]
    allowed = [f"Bash({command}*)" for command in COMMANDS]
    # Proposals are written by their script; a file tool could write those of another run.
    allowed += ["Edit(runs/*/candidate/**)", "Edit(experience/**)"]
    asked = {"type": "command", "command": HOOK, "timeout": 60, "onFailure": "block"}
    settings = {
        "permissions": {"allow": allowed, "deny": denied},
        "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [asked]}]},
        "sandbox": {
            "enabled": True,
            "autoAllowBashIfSandboxed": True,
            "allowUnsandboxedCommands": False,
            "filesystem": {
                "denyRead": [f"./{path}" for path in evaluation] + ["./.git", RESULTS],
                "denyWrite": [f"./{path}" for path in (*closed, *PAGES)],
            },
        },
    }
    return json.dumps(settings, indent=2) + "\n"


def codex(name: str, writable: Sequence[str]) -> str:
    """Return the sections of a permission profile of Codex, as TOML.

    Args:
        name: Of the profile.
        writable: Folders within the checkout that the session may write.
    """
    lines = [f"[permissions.{name}]", 'extends = ":workspace"', ""]
    lines += [f"[permissions.{name}.filesystem]", '":slash_tmp" = "write"', '":tmpdir" = "write"']
    lines += [f'"{RESULTS}" = "deny"', "", f'[permissions.{name}.filesystem.":workspace_roots"]']
    # A pattern that names the folder alone would leave its files readable.
    lines += ['"." = "read"', f'"{TASKS}/**" = "deny"', '".git" = "deny"']
    lines += [f'"{path}" = "write"' for path in writable]
    return "\n".join(lines) + "\n"


def codex_by_hand() -> str:
    """Return the text of `.codex/config.toml`: the newest run is the one that may be steered."""
    opening = (
        "# The fence of a meta-agent, held by the kernel. Codex reads it in a trusted project:\n"
        "# answer its question. Inside `python -m skill enter` it makes no sandbox of its own.\n"
        'default_permissions = "eau"\n\n'
    )
    return opening + codex("eau", ["experience", "runs/latest/candidate", "runs/latest/proposals"])


def files(checkout: Path) -> dict[Path, str]:
    """Return both files by their path in a checkout."""
    found = sorted(path.relative_to(checkout).as_posix() for path in checkout.glob(TASKS))
    return {CLAUDE: claude(found), CODEX: codex_by_hand()}
