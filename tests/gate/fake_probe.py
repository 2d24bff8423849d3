"""A program in the place of the probe: it answers, or misbehaves, as a folder's `play` file says.

`python fake_probe.py PLAY REQUEST` keeps the request that it was given beside the file PLAY.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PASSES: dict[str, Any] = {"findings": [], "measured": {}, "seconds": 0.5, "tasks": 32}
"""The answer of a probe that finds nothing."""

REFUSES: dict[str, Any] = {
    **PASSES,
    "findings": [
        {
            "rule": "probe.solvable",
            "severity": "error",
            "message": "Two tasks of travel cannot be solved any more.",
            "next_step": "Let the user answer again.",
            "file": None,
            "line": None,
            "column": None,
            "path": None,
            "value": 2,
            "limit": 0,
        }
    ],
    "measured": {"solvable": {"travel": 2}},
}
"""The answer of one that finds a fault."""


def command(folder: Path, play: dict[str, Any] | str = PASSES) -> tuple[str, ...]:
    """Return the command line of a probe that plays a part; `play` again to change the part."""
    act(folder, play)
    return (sys.executable, str(Path(__file__).resolve()), str(folder / "play.json"))


def act(folder: Path, play: dict[str, Any] | str) -> None:
    """Choose what the probe does: an answer, or the name of a misdeed."""
    folder.mkdir(exist_ok=True)
    (folder / "next.json").write_text(json.dumps(play))
    os.replace(folder / "next.json", folder / "play.json")


def asked(folder: Path) -> list[dict[str, Any]]:
    """Return the requests that were made, oldest first."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("asked-*.json"))]


def _main(play_file: Path, request: Path) -> None:
    folder = play_file.parent
    number = len(list(folder.glob("asked-*")))
    (folder / "environment.json").write_text(json.dumps(dict(os.environ)))
    (folder / "pid").write_text(str(os.getpid()))
    shutil.copy(request, folder / "asking.json")
    os.replace(folder / "asking.json", folder / f"asked-{number:03d}.json")
    play = json.loads(play_file.read_text())
    if play == "hang":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=0)
        time.sleep(60)
    elif play == "die":
        sys.exit("the floor is lava")
    elif play == "shout":
        print("x" * (1 << 21))
    elif play == "chatter":
        print("hello")
        print(json.dumps(PASSES))
    else:
        while play == "wait":
            time.sleep(0.01)
            play = json.loads(play_file.read_text())
        print(json.dumps(play))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]))
