"""The three packages are ours, the wheel holds these and nothing else, and versions are pinned."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.project import tree

PYPROJECT = tomllib.loads((tree.CHECKOUT / "pyproject.toml").read_text("utf-8"))
DATA = {".yaml", ".json", ".jsonl", ".md"}
UNPINNED_EXTRAS = {"sglang", "track"}
"""Optional parts that are no part of the tested set."""

NEVER_IMPORTED = {"jinja2"}
"""What another package loads by itself: transformers renders chat templates with it."""


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files in a wheel built from a copy of the checkout."""
    source = tmp_path_factory.mktemp("source")
    for path in tree.files():
        if path.parts[0] in {*tree.PACKAGES, "tests", "pyproject.toml", "README.md", "LICENSE"}:
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree.CHECKOUT / path, source / path)
    build = "from setuptools.build_meta import build_wheel; print(build_wheel('dist'))"
    outcome = subprocess.run(
        [sys.executable, "-c", build], cwd=source, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    with zipfile.ZipFile(source / "dist" / outcome.stdout.split()[-1]) as wheel:
        return set(wheel.namelist())


@pytest.mark.parametrize("package", tree.PACKAGES)
def test_each_package_resolves_inside_the_checkout(package: str) -> None:
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    assert Path(spec.origin).resolve() == tree.CHECKOUT / package / "__init__.py"


def test_the_wheel_holds_the_three_packages_and_nothing_else(wheel_names: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel_names}
    metadata = {top for top in tops if re.fullmatch(r"eau-[\d.]+\.dist-info", top)}
    assert len(metadata) == 1
    assert tops - metadata == set(tree.PACKAGES)


def test_the_wheel_holds_every_module_and_every_data_file(wheel_names: set[str]) -> None:
    ours = {
        path.as_posix()
        for path in tree.files()
        if path.parts[0] in tree.PACKAGES and path.suffix in DATA | {".py"}
    }
    assert sorted(ours - wheel_names) == [], "a folder without __init__.py, or a new suffix"


def test_every_folder_with_code_is_a_package() -> None:
    folders = {source.path.parent for source in tree.sources(*tree.PACKAGES)}
    assert [
        str(f) for f in sorted(folders) if not (tree.CHECKOUT / f / "__init__.py").is_file()
    ] == []


def test_it_cannot_be_uploaded_by_mistake() -> None:
    assert "Private :: Do Not Upload" in PYPROJECT["project"]["classifiers"]


@pytest.mark.parametrize("script", sorted(PYPROJECT["project"]["scripts"]))
def test_each_command_leads_to_a_function(script: str) -> None:
    module, function = PYPROJECT["project"]["scripts"][script].split(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_every_dependency_is_pinned_within_its_range() -> None:
    project = PYPROJECT["project"]
    wanted = list(project["dependencies"])
    for extra, entries in project["optional-dependencies"].items():
        wanted += [] if extra in UNPINNED_EXTRAS else entries
    pins = _pins()
    for entry in wanted:
        requirement = Requirement(entry)
        name = _normal(requirement.name)
        assert name in pins, f"{entry}: add the tested version to constraints.txt"
        assert requirement.specifier.contains(pins[name]), (
            f"{entry}: constraints.txt has {pins[name]}"
        )


def test_every_package_that_is_imported_is_declared() -> None:
    project = PYPROJECT["project"]
    core = _names(project["dependencies"])
    optional = core.union(*(_names(e) for e in project["optional-dependencies"].values()))
    brought_by = importlib.metadata.packages_distributions()
    undeclared: list[str] = []
    for source in tree.sources(*tree.PACKAGES):
        at_top = {id(node) for node in source.tree.body}
        # A world's files import each other by bare name, since the folder is copied into a run.
        ours = {path.stem for path in (tree.CHECKOUT / source.path).parent.glob("*.py")}
        ours |= sys.stdlib_module_names | set(tree.PACKAGES)
        for node in ast.walk(source.tree):
            declared = core if id(node) in at_top else optional
            for module in _imports(node) - ours:
                if not declared & {_normal(name) for name in brought_by.get(module, ())}:
                    undeclared.append(f"{source.path}: {module}")
    assert undeclared == [], "declare it in pyproject.toml; an optional one is imported where used"


def test_every_package_that_is_installed_for_a_run_is_imported() -> None:
    brought_by = importlib.metadata.packages_distributions()
    imported = {
        _normal(name)
        for source in tree.sources(*tree.PACKAGES)
        for node in ast.walk(source.tree)
        for module in _imports(node)
        for name in brought_by.get(module, ())
    }
    unused = _names(PYPROJECT["project"]["dependencies"]) - imported - NEVER_IMPORTED
    assert unused == set(), "drop it from pyproject.toml, or move it to the extra that needs it"


def test_pins_name_versions_alone_and_fit_every_build() -> None:
    for line in _lines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", line), line


def _lines() -> list[str]:
    text = (tree.CHECKOUT / "constraints.txt").read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _pins() -> dict[str, str]:
    pairs = (line.split("==") for line in _lines())
    return {_normal(name): version for name, version in pairs}


def _names(requirements: list[str]) -> set[str]:
    return {_normal(Requirement(entry).name) for entry in requirements}


def _imports(node: ast.AST) -> set[str]:
    """Top-level names of the modules that one statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {node.module.split(".")[0]}
    return set()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
