"""The environment of the real server is pinned whole, on the learner's own torch."""

from __future__ import annotations

import re

from tests.project import tree
from tests.scale import install_sglang


def _pins(name: str) -> dict[str, str]:
    lines = (tree.CHECKOUT / name).read_text("utf-8").splitlines()
    entries = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {_normal(package): version for package, version in entries}


def _normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def test_whatever_is_installed_by_name_is_pinned() -> None:
    pins = _pins("constraints-sglang.txt")
    named = ["torch", *install_sglang.LIGHT, *install_sglang.ALONE]
    assert [package for package in named if _normal(package) not in pins] == []
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in pins.values())


def test_the_server_is_the_one_that_the_extra_names() -> None:
    assert f"sglang=={_pins('constraints-sglang.txt')['sglang']}" == install_sglang.requirement()


def test_server_and_learner_compute_with_the_same_torch_and_transformers() -> None:
    ours, theirs = _pins("constraints.txt"), _pins("constraints-sglang.txt")
    for package in ("torch", "transformers", "safetensors"):
        assert ours[package] == theirs[package]


def test_the_two_missing_modules_are_there() -> None:
    assert (install_sglang.SHIMS / "vllm" / "_custom_ops.py").is_file()
    assert (install_sglang.SHIMS / "torchvision" / "__init__.py").is_file()
