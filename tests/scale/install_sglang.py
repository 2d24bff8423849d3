"""Make the environment `.venv-sglang`: a real SGLang server on a machine without GPU.

`make sglang`, or `python -m tests.scale.install_sglang`. SGLang's own requirements are some
200 packages for CUDA, four gigabytes, so it is installed without them, beside the light ones that
serving text on a CPU really uses. The two modules that are missing then, one function of vLLM and
an empty torchvision, are those of `tests/scale/shims`; a path file in the environment names that
folder, so every process of a server finds them. All of this is outside what SGLang supports.

It lies beside the tests since they are what needs it: with a GPU, `pip install sglang==0.5.23` in
an environment of its own is the way.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
VENV = CHECKOUT / ".venv-sglang"
PYTHON = VENV / "bin" / "python"
PINS = CHECKOUT / "constraints-sglang.txt"
SHIMS = Path(__file__).resolve().parent / "shims"

LIGHT = """
accelerate aiohttp apache-tvm-ffi dill einops fastapi gguf interegular IPython jsonschema loguru
msgspec openai orjson partial_json_parser pillow prometheus-client psutil pybase64
python-multipart pyzmq requests sentencepiece setproctitle soundfile transformers uvicorn uvloop
""".split()
"""What a server of text imports on its way up."""
ALONE = "compressed-tensors xgrammar triton".split()
"""Beside SGLang itself, what is installed without its own requirements."""


def main() -> int:
    """Install what is missing; return the exit status."""
    if _is_ready():
        return 0
    if not PYTHON.exists():
        _run(sys.executable, "-m", "venv", str(VENV))
    index = os.environ.get("TORCH_INDEX_URL", "")
    # torch comes first and alone, as in the Makefile: its index holds nothing else.
    _pip(*(("--index-url", index) if index else ()), "torch")
    _pip(*LIGHT)
    _pip("--no-deps", requirement(), *ALONE)
    _paths().write_text(f"{SHIMS}\n", "utf-8")
    (VENV / ".installed").write_bytes(PINS.read_bytes())
    return 0


def _is_ready() -> bool:
    """True when the environment was made from these very pins."""
    mark = VENV / ".installed"
    return PYTHON.exists() and mark.is_file() and mark.read_bytes() == PINS.read_bytes()


def requirement() -> str:
    """Return the requirement of the extra, which says the one version that is supported."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    (entry,) = project["optional-dependencies"]["sglang"]
    return entry


def _paths() -> Path:
    """Return the path file; Python adds the folders that it names to its search path."""
    (packages,) = VENV.glob("lib/python3.*/site-packages")
    return packages / "eau_shims.pth"


def _pip(*arguments: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check", "--constraint", str(PINS))
    _run(str(PYTHON), "-m", "pip", "install", *quiet, *arguments)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=CHECKOUT)


if __name__ == "__main__":
    raise SystemExit(main())
