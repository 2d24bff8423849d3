"""Install the pinned clients where git ignores them, or say loudly why they could not be.

`python -m tests.agents.install`. Exit status 0 also when there is no way to the registry, since
the tests then skip with that reason; any other fault is 1. With `EAU_NEED_CLIENTS=1` both are 1.
Install scripts are not run: the programs lie ready in the packages of the platform.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.agents import clients

_COMMAND = (
    *("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"),
    *("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"),
)
_NO_WAY = (
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ENETUNREACH",
    "EHOSTUNREACH",
    "ETIMEDOUT",
    "ENOTCACHED",
    "ERR_SOCKET_TIMEOUT",
    "E403",
    "E502",
    "E503",
    "E504",
)
"""What npm calls it when the registry cannot be reached."""
_TIMEOUT_S = 300
_BANNER = """\
{line}
NOT TESTED WITH REAL CLIENTS: {reason}
`make test-agents` needs npm and a way to its registry; nothing here says that Claude Code and
Codex work with this checkout. Tests that need them are skipped.
{line}"""


def main() -> int:
    """Install; return the exit status."""
    if _installed():
        return 0
    if shutil.which("npm") is None:
        return _give_up("npm is not installed")
    clients.FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(clients.PINS.parent / name, clients.FOLDER)
    try:
        done = subprocess.run(
            _COMMAND,
            cwd=clients.FOLDER,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return _give_up(f"npm found no way to its registry within {_TIMEOUT_S} s")
    reasons = [code for code in _NO_WAY if code in done.stderr]
    if reasons:
        return _give_up(f"npm cannot reach its registry ({reasons[0]})")
    if done.returncode or not _installed():
        print(f"npm could not install the clients:\n{done.stderr}", file=sys.stderr)
        return 1
    clients.WHY_NOT.unlink(missing_ok=True)
    return 0


def _installed() -> bool:
    """True when every client is there in its pinned version."""
    ours = (clients.PINS.parent / "package-lock.json").read_bytes()
    copy = clients.FOLDER / "package-lock.json"
    found = all(client.program for client in clients.CLIENTS.values())
    return found and copy.is_file() and copy.read_bytes() == ours


def _give_up(reason: str) -> int:
    clients.FOLDER.mkdir(parents=True, exist_ok=True)
    clients.WHY_NOT.write_text(f"{reason}\n", "utf-8")
    print(_BANNER.format(line="!" * 80, reason=reason), file=sys.stderr)
    return 1 if os.environ.get("EAU_NEED_CLIENTS") == "1" else 0


if __name__ == "__main__":
    raise SystemExit(main())
