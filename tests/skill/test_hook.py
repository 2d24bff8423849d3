"""The hook leaves a meta-agent its scripts and its files, and forbids what leads to another's.

It is tried as Claude Code runs it: the call as JSON on stdin, the exit status out.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skill.supervisor import hook, profiles
from tests.project.tree import CHECKOUT

PYTHON, SCRIPTS = ".venv/bin/python", "skill/eau-meta-agent/scripts"
STATUS = f"{PYTHON} {SCRIPTS}/status.py"
LESSON = f"{PYTHON} {SCRIPTS}/lesson.py"
PROPOSE = f"{PYTHON} {SCRIPTS}/propose.py"
EVALUATION = "trainer/worlds/travel/evaluation"
TASKS = f"{EVALUATION}/tasks.jsonl"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small checkout: two runs, evaluation data, a history, and links that were made before."""
    root = tmp_path_factory.mktemp("hook") / "checkout"
    for name in ("__init__", "supervisor/__init__", "supervisor/hook", "supervisor/bounds"):
        _copy(root, f"skill/{name}.py")
    for name in ("skill/supervisor/plain.py", *(f"{SCRIPTS}/{one}.py" for one in hook.SCRIPTS)):
        _copy(root, name)
    for name in (TASKS, "trainer/worlds/travel/tools.py", ".git/config", "README.md", "gate/x.py"):
        _file(root / name)
    for run in ("live", "other"):
        for name in ("run.yaml", "steps.jsonl", "knobs/user.yaml", "proposals/0001.yaml"):
            _file(root / "runs" / run / name)
    _file(root / "experience" / "lessons" / "0001-a.md")
    _file(root.parent / "results" / "live.jsonl")
    (root / "runs" / "latest").symlink_to("live")
    candidate = root / "runs" / "live" / "candidate"
    _file(candidate / "knobs" / "user.yaml")
    for name, target in {
        "notes": root / EVALUATION,
        "a b": root / EVALUATION,
        "n\u00e9": root / EVALUATION,
        "history": root / ".git",
        "theirs": root / "runs" / "other",
        "gate": root / "gate",
        "knobs/live.yaml": root / "runs" / "live" / "knobs" / "user.yaml",
        "fresh": root / "trainer" / "worlds" / "travel" / "new.py",
    }.items():
        (candidate / name).symlink_to(target)
    os.link(root / TASKS, candidate / "second.jsonl")
    os.link(root / "gate" / "x.py", candidate / "twin.py")
    (candidate / "fake").mkdir()
    (candidate / "fake" / "steps.jsonl").symlink_to(root / TASKS)
    return root


def _copy(root: Path, name: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(CHECKOUT / name, root / name)


def _file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("text\n")


def asked(root: Path, given: Any, **environment: str) -> tuple[int, str]:
    """Return the exit status of the hook and what it says."""
    base = {"HOME": str(root.parent / "home"), "EAU_EVAL_ROOT": str(root.parent / "results")}
    ended = subprocess.run(
        [sys.executable, "-ESsB", "-m", "skill.supervisor.hook"],
        input=given if isinstance(given, bytes) else json.dumps(given).encode(),
        cwd=root,
        env=base | environment,
        capture_output=True,
        check=False,
    )
    assert ended.stdout == b""
    return ended.returncode, ended.stderr.decode()


def call(root: Path, tool: str, cwd: Path | None = None, **given: Any) -> dict[str, Any]:
    page = str(root.parent / "home" / ".claude" / "projects" / "p" / "s1.jsonl")
    return {
        "tool_name": tool,
        "tool_input": given,
        "cwd": str(cwd or root),
        "transcript_path": page,
    }


def bash(root: Path, command: str, **environment: str) -> tuple[int, str]:
    return asked(root, call(root, "Bash", command=command), **environment)


@pytest.mark.parametrize(
    "command",
    [
        *(f"{PYTHON} {SCRIPTS}/{name}.py latest --json" for name in hook.SCRIPTS),
        *(f"{PYTHON} -m skill {name} --help" for name in hook.SCRIPTS),
        f"{STATUS} other",
        f"{STATUS} runs/other",
        f'"{PYTHON}" ./{SCRIPTS}/status.py latest',
        f"{PROPOSE} live --draft --dry-run --set user.min_questions=1 --why 'a; b > c'",
        f"{LESSON} new --title 'evaluation' --text 'We saw $x\nand / or *y*' --evidence runs/a/s#1",
        f"{LESSON} search docs",
        f"{PYTHON} -m gate check latest --proposal 1",
        f"{PYTHON} -m gate check runs/latest/candidate/knobs",
        f"{PYTHON} -m gate log other --limit 5",
        *("pwd", "date", "true", "sleep 60", "ls", "ls -la runs", "ls docs", "ls trainer/worlds"),
    ],
)
def test_plain_calls_of_scripts_are_left_to_the_client(root: Path, command: str) -> None:
    assert bash(root, command) == (0, "")


@pytest.mark.parametrize(
    "command",
    [
        *(
            f"cat {TASKS}",
            "cat tr*/w*/tr*/ev*/*",
            f"git show HEAD:{TASKS}",
            "git log",
            "cat README.md",
        ),
        *("grep -r small trainer", "find . -name tasks.jsonl", "env", "bash", "sh -c ls", ""),
        *(f"{STATUS} latest; cat {TASKS}", f"{STATUS} latest\ncat {TASKS}", f"{STATUS} | tee x"),
        *(f"{STATUS} $(cat {TASKS})", f'{STATUS} "`cat {TASKS}`"', f"{STATUS} <{TASKS}"),
        *(f"cat$IFS{TASKS}", f"EAU_FENCE=off {STATUS}", f"env EAU_FENCE=off {STATUS} latest"),
        *(
            f"cd /tmp && {STATUS}",
            f"export EAU_FENCE=off; {STATUS}",
            f"exec {STATUS}",
            f". {TASKS}",
        ),
        *(f"{PYTHON} -c pass", f"{PYTHON} -m skill supervise latest", f"{PYTHON} -m skill"),
        *(f"{PYTHON} -m skill enter latest -- sh", f"{PYTHON} -m gate set latest a 1", PYTHON),
        *(f"{PYTHON} -m gate apply latest 1", f"{PYTHON} -m trainer evaluate", f"{PYTHON} -i"),
        *(
            f"python {SCRIPTS}/status.py",
            "python3 -m skill status latest",
            f"/usr{PYTHON} -m skill",
        ),
        f"{PYTHON} {SCRIPTS}/../../../gate/x.py",
        f"{PYTHON} runs/live/candidate/status.py",
        f"{PYTHON} -m gate check latest --patch 1",
        f"{PYTHON} -m gate check latest --draft {TASKS}",
        f"{PYTHON} -m gate check --draft=runs/live/candidate/notes/tasks.jsonl",
        f"{PYTHON} -m gate check {EVALUATION}",
        f"{PYTHON} -m gate check runs/live/candidate/notes",
        f"{STATUS} runs/live/candidate/fake",
        f"{STATUS} live/candidate/fake",
        f"{STATUS} 'runs/live/candidate/a b'",
        f"{STATUS} ../checkout/runs/live",
        f"{STATUS} fake --runs runs/live/candidate",
        f"{STATUS} fake --ru=runs/live/candidate",
        f"{LESSON} index --experience gate",
        f"{LESSON} index --exp gate",
        f"{PROPOSE} other --set user.min_questions=1",
        f"{PYTHON} -m skill restart runs/other --budget",
        f"{STATUS} {'x' * 100_001}",
        *(f"ls {EVALUATION}", "ls -R trainer", "ls runs/other", "ls /", "ls ~", "ls .git"),
        *("sleep 1000", "sleep infinity", "date -f x", f"date -f {TASKS}", "ѕleep 5", "ls\u00a0."),
    ],
)
def test_every_other_command_is_forbidden_with_a_next_step(root: Path, command: str) -> None:
    status, told = bash(root, command)
    assert status == 2
    assert len(told.strip()) > 40 and ":" in told


def test_a_command_is_run_in_the_checkout_alone(root: Path) -> None:
    status, told = asked(root, call(root, "Bash", root / "runs", command=f"{STATUS} latest"))
    assert status == 2 and f"start the client in {root}" in told


@pytest.mark.parametrize(
    "tool, given",
    [
        ("Read", {"file_path": "README.md"}),
        ("Read", {"file_path": "runs/latest/steps.jsonl"}),
        ("Read", {"file_path": "trainer/worlds/travel/tools.py"}),
        ("Read", {"file_path": "{home}/.claude/projects/p/s1/tool-results/1.txt"}),
        ("Grep", {"pattern": EVALUATION, "path": "gate"}),
        ("Grep", {"pattern": "x", "path": "runs/latest"}),
        ("Glob", {"pattern": "runs/latest/**/*.yaml"}),
        ("Glob", {"pattern": "*.md"}),
        ("Glob", {"pattern": "*.py", "path": "{root}/trainer/worlds/travel"}),
        ("Write", {"file_path": "runs/latest/candidate/knobs/reward.yaml"}),
        ("Edit", {"file_path": "runs/live/candidate/knobs/user.yaml"}),
        ("Write", {"file_path": "runs/latest/proposals/0002.yaml"}),
        ("Write", {"file_path": "experience/lessons/0002-b.md"}),
        ("Skill", {"skill": "eau-meta-agent"}),
        ("TodoWrite", {"todos": []}),
    ],
)
def test_its_own_files_and_the_open_ones_are_left_to_the_client(
    root: Path, tool: str, given: Mapping[str, str]
) -> None:
    assert asked(root, call(root, tool, **_filled(root, given))) == (0, "")


@pytest.mark.parametrize(
    "tool, given",
    [
        ("Read", {"file_path": TASKS}),
        ("Read", {"file_path": "{root}/" + TASKS}),
        ("Read", {"file_path": f"docs/../{TASKS}"}),
        ("Read", {"file_path": f"/proc/self/cwd/{TASKS}"}),
        ("Read", {"file_path": TASKS.upper()}),
        ("Read", {"file_path": "runs/latest/candidate/notes/tasks.jsonl"}),
        ("Read", {"file_path": "runs/latest/candidate/second.jsonl"}),
        ("Read", {"file_path": "runs/latest/candidate/fake/steps.jsonl"}),
        ("Read", {"file_path": "runs/latest/candidate/ne\u0301/tasks.jsonl"}),
        ("Read", {"file_path": " runs/latest/candidate/notes/tasks.jsonl"}),
        ("Read", {"file_path": "runs/latest/candidate/history/config"}),
        ("Read", {"file_path": "runs/latest/candidate/theirs/steps.jsonl"}),
        ("Read", {"file_path": ".git/config"}),
        ("Read", {"file_path": ".claude/worktrees/w/trainer/worlds/travel/evaluation/tasks.jsonl"}),
        ("Read", {"file_path": "{root}/../results/live.jsonl"}),
        ("Read", {"file_path": "{home}/.claude/.credentials.json"}),
        ("Read", {"file_path": "{home}/.claude/projects/p/s1/../s2/1.txt"}),
        ("Read", {"file_path": "/etc/passwd"}),
        ("Read", {"file_path": "~/x"}),
        ("Read", {"file_path": "$HOME/x"}),
        ("Read", {"file_path": "a\u202fb"}),
        ("Read", {"file_path": "a\x00b"}),
        ("Read", {"file_path": ["README.md"]}),
        ("Read", {"file_path": "runs/other/steps.jsonl"}),
        ("Grep", {"pattern": "x"}),
        ("Grep", {"pattern": "x", "path": "trainer/worlds/travel"}),
        ("Grep", {"pattern": "x", "path": "runs"}),
        ("Grep", {"pattern": "x", "path": "/"}),
        ("Grep", {"pattern": "x", "path": "runs/latest/candidate/notes"}),
        ("Glob", {"pattern": "**/*.jsonl"}),
        ("Glob", {"pattern": "tr*/w*/tr*/ev*/*"}),
        ("Glob", {"pattern": f"{EVALUATION}/*"}),
        ("Glob", {"pattern": "{root}/trainer/**"}),
        ("Glob", {"pattern": "d*/../trainer/worlds/travel/evaluation/*"}),
        ("Glob", {"pattern": "{docs,trainer/worlds/travel/evaluation}/*"}),
        ("Glob", {"pattern": "*", "path": EVALUATION}),
        ("Write", {"file_path": "gate/rules/always.py"}),
        ("Write", {"file_path": "json.py"}),
        ("Write", {"file_path": ".claude/settings.local.json"}),
        ("Edit", {"file_path": "runs/latest/knobs/user.yaml"}),
        ("Edit", {"file_path": "runs/latest/candidate/knobs/live.yaml"}),
        ("Edit", {"file_path": "runs/latest/candidate/twin.py"}),
        ("Write", {"file_path": "runs/latest/candidate/fresh"}),
        ("Write", {"file_path": "runs/latest/candidate/gate/new.py"}),
        ("Write", {"file_path": "runs/latest/candidate/../ledger.jsonl"}),
        ("Write", {"file_path": "runs/latest/candidate"}),
        ("Write", {"file_path": "runs/other/candidate/x"}),
        ("Write", {"file_path": "runs/other/proposals/0002.yaml"}),
        ("MultiEdit", {"file_path": "CLAUDE.md"}),
        ("NotebookEdit", {"notebook_path": "docs/a.ipynb"}),
        ("Edit", {"file_path": "runs/latest/proposals/0001.yaml"}),
        ("Write", {"file_path": "experience/lessons/0001-a.md"}),
        ("Write", {"path": "experience/x.md"}),
        ("Monitor", {"command": f"cat {TASKS}"}),
        ("mcp__files__read", {"path": TASKS}),
        ("WebFetch", {"url": "https://example.invalid"}),
        ("", {}),
    ],
)
def test_what_is_closed_or_anothers_is_forbidden_with_a_next_step(
    root: Path, tool: str, given: Mapping[str, Any]
) -> None:
    status, told = asked(root, call(root, tool, **_filled(root, given)))
    assert status == 2 and len(told.strip()) > 40


def _filled(root: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a call with the places of this test in them."""
    named = {"{root}": str(root), "{home}": str(root.parent / "home")}
    filled = dict(given)
    for name, value in given.items():
        for mark, place in named.items() if isinstance(value, str) else ():
            filled[name] = filled[name].replace(mark, place)
    return filled


@pytest.mark.parametrize(
    "given", [b"", b"{", b"[]", b"{}", b'{"tool_name": 1}', b"\xff", b"[" * 100_000, b"null"]
)
def test_what_it_cannot_read_is_forbidden(root: Path, given: bytes) -> None:
    status, told = asked(root, given)
    assert status == 2 and "could not decide" in told


def test_a_run_is_named_by_the_person_who_starts_the_client(root: Path) -> None:
    steer = call(root, "Write", file_path="runs/other/candidate/x")
    assert asked(root, steer, EAU_RUN="runs/other")[0] == 0
    assert asked(root, steer, EAU_RUN="other")[0] == 0
    status, told = asked(root, steer, EAU_RUN="runs/gone")
    assert status == 2
    status, told = asked(root, call(root, "Read", file_path="runs/other/x"), EAU_RUN="runs/gone")
    assert status == 2 and "EAU_RUN=runs/NAME" in told


def test_the_live_knobs_of_a_watched_folder_are_read_and_not_written(root: Path) -> None:
    run, mine = root / "runs" / "far", root.parent / "mine"
    for path in (run / "run.yaml", mine / "user.yaml", mine / "deeper" / "notes"):
        _file(path)
    (run / "knobs").symlink_to(mine)
    live = "runs/far/knobs/user.yaml"
    assert asked(root, call(root, "Read", file_path=live), EAU_RUN="runs/far") == (0, "")
    assert bash(root, "ls runs/far/knobs", EAU_RUN="runs/far") == (0, "")
    assert asked(root, call(root, "Write", file_path=live), EAU_RUN="runs/far")[0] == 2
    deeper = call(root, "Read", file_path="runs/far/knobs/deeper/notes")
    assert asked(root, deeper, EAU_RUN="runs/far")[0] == 2
    assert asked(root, call(root, "Read", file_path=live))[0] == 2
    (run / "knobs").unlink()
    (run / "knobs").symlink_to((root / TASKS).parent)
    tasks = call(root, "Read", file_path=f"runs/far/knobs/{Path(TASKS).name}")
    assert asked(root, tasks, EAU_RUN="runs/far")[0] == 2


def test_a_person_who_works_on_the_code_turns_it_off(root: Path) -> None:
    assert bash(root, "git log", EAU_FENCE="off") == (0, "")
    assert bash(root, "git log", EAU_FENCE="on")[0] == 2
    assert "docs/supervisor.md" in bash(root, "git log")[1]
    assert hook.SWITCH in (CHECKOUT / "docs" / "supervisor.md").read_text("utf-8")


def test_the_settings_start_it_and_any_fault_forbids(root: Path, tmp_path: Path) -> None:
    settings = json.loads((CHECKOUT / profiles.CLAUDE).read_text("utf-8"))
    (matched,) = settings["hooks"]["PreToolUse"]
    (command,) = (one["command"] for one in matched["hooks"])
    assert matched["matcher"] == "*"
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to(sys.executable)

    def started(folder: Path, tool: str) -> tuple[int, str]:
        env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(folder)}
        given = json.dumps(call(root, tool, file_path="README.md"))
        ended = subprocess.run(
            ["sh", "-c", command], input=given, env=env, cwd="/", capture_output=True, text=True
        )
        return ended.returncode, ended.stderr

    assert started(root, "Read") == (0, "")
    assert started(root, "Write")[0] == 2
    status, told = started(tmp_path, "Read")
    assert status == 2 and "run make install" in told
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    status, told = started(tmp_path, "Read")
    assert status == 2 and "run make install" in told


def test_inside_a_fence_of_the_kernel_it_leaves_the_call_to_it(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "a"
    (run / "candidate").mkdir(parents=True)
    (run / "run.yaml").write_text("attempt: 1\n")
    words = [sys.executable, "-ESsB", "-m", "skill.supervisor.hook"]
    ended = subprocess.run(
        [sys.executable, "-m", "skill", "enter", str(run), "--", *words],
        input=json.dumps(call(CHECKOUT, "Bash", command="cat tr*/w*/tr*/ev*/*")),
        cwd=CHECKOUT,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "no kernel fence" in ended.stderr:
        pytest.skip(ended.stderr.strip())
    assert (ended.returncode, ended.stderr) == (0, "")


def test_it_takes_less_than_a_tenth_of_a_second(root: Path) -> None:
    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert bash(root, f"{STATUS} latest")[0] == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # Of the processor, and the least of five: other processes share the cores.
    assert min(seconds() for _ in range(5)) < 0.1
