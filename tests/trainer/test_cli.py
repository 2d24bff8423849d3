"""The command line: every command says what it is for, and asking or reading loads no tensors."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trainer import cli, commands

HEAVY = ("numpy", "scipy", "torch", "transformers")
"""Packages that take longer to load than any command that only reads."""
GOLDEN_RUN = "tests/golden/run-v1"
WATCHED = f"""
import json, sys
from typer.testing import CliRunner
from trainer.cli import app

for words in json.loads(sys.argv[1]):
    outcome = CliRunner().invoke(app, words)
    loaded = [name for name in {HEAVY} if name in sys.modules]
    print(json.dumps([words, outcome.exit_code, len(outcome.output), loaded]))
"""
"""A program that runs commands in turn and tells, after each, which heavy packages are loaded."""


def function(name: str) -> object:
    return importlib.import_module(f"trainer.commands.{name}").command


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_a_command_says_in_the_table_what_its_own_help_says(name: str) -> None:
    told = inspect.getdoc(function(name))
    assert told is not None and told.splitlines()[0] == cli.COMMANDS[name]
    outcome = CliRunner().invoke(cli.app, [name, "--help"], env={"COLUMNS": "200"})
    assert outcome.exit_code == 0
    assert cli.COMMANDS[name] in outcome.output


def test_every_module_with_a_command_is_in_the_table() -> None:
    modules = [entry.name for entry in pkgutil.iter_modules(commands.__path__)]
    having = {
        name
        for name in modules
        if hasattr(importlib.import_module(f"trainer.commands.{name}"), "command")
    }
    assert having == set(cli.COMMANDS)


def test_the_first_page_lists_every_command_with_its_sentence() -> None:
    outcome = CliRunner().invoke(cli.app, ["--help"], env={"COLUMNS": "200"})
    assert outcome.exit_code == 0
    for name, sentence in cli.COMMANDS.items():
        assert name in outcome.output and sentence in outcome.output


def test_a_mistyped_command_is_answered_with_its_neighbour() -> None:
    outcome = CliRunner().invoke(cli.app, ["recipies"])
    assert outcome.exit_code == cli.MISUSE
    assert "No such command 'recipies'" in outcome.output and "'recipes'" in outcome.output


def test_asking_for_help_and_reading_load_no_tensor_library(checkout: Path, tmp_path: Path) -> None:
    asked = [["--help"], *([name, "--help"] for name in cli.COMMANDS)]
    read = [
        ["recipes"],
        ["show", GOLDEN_RUN],
        ["show", GOLDEN_RUN, "--failed", "--json"],
        ["compare", GOLDEN_RUN],
        ["why", GOLDEN_RUN, "2"],
        ["why", GOLDEN_RUN, "2", "--json"],
        ["history", GOLDEN_RUN],
        ["watch", GOLDEN_RUN, "--once"],
        ["report", GOLDEN_RUN, "--out", str(tmp_path / "page.html")],
    ]
    refused = [[name, "nowhere"] for name in ("train", "resume", "evaluate", "show", "compare")]
    told = watched([*asked, *read, *refused], checkout)
    assert [words for words, code, _, _ in told if code == 0] == [*asked, *read]
    assert [words for words, _, _, loaded in told if loaded] == []
    assert all(length > 0 for words, _, length, _ in told if words not in refused)


def watched(lines: list[list[str]], checkout: Path) -> list[tuple[list[str], int, int, list[str]]]:
    outcome = subprocess.run(
        [sys.executable, "-W", "error", "-c", WATCHED, json.dumps(lines)],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    return [tuple(json.loads(line)) for line in outcome.stdout.splitlines()]
