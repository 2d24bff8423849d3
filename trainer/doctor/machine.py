"""The machine: Python, packages, threads, memory and GPUs.

Nothing here knows the recipe beyond what it asks of the machine.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from trainer.doctor.finding import Finding, Gpu, Level, Patient
from trainer.memory_plan import gib

LEAST_PYTHON = (3, 11)
NEEDED = ("torch", "transformers", "tokenizers", "safetensors", "httpx", "jsonschema", "rapidfuzz")
TIGHT = 0.9
"""Share of a memory above which a plan is doubtful: allocators waste some of it."""
OPTIONAL: Mapping[str, str] = MappingProxyType(
    {"deepspeed": "pip install 'eau[deepspeed]'", "sglang": "pip install 'eau[sglang]'"}
)
"""Packages that some recipes ask for, and how each is had."""


def python(patient: Patient) -> Iterator[Finding]:
    """Check the version of Python."""
    found = platform.python_version()
    if sys.version_info >= LEAST_PYTHON:
        yield Finding("python", Level.OK, f"Python {found}")
    else:
        told = f"Python {found}; {'.'.join(map(str, LEAST_PYTHON))} or newer is needed"
        yield Finding("python", Level.FAULT, told)


def packages(patient: Patient) -> Iterator[Finding]:
    """Check that the packages are there which this recipe loads."""
    optional = [] if patient.config is None else [*backends(patient)]
    versions: list[str] = []
    for name in (*NEEDED, *optional):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            how = OPTIONAL.get(name, "make install")
            yield Finding("packages", Level.FAULT, f"{name} is not installed: {how}")
    yield Finding("packages", Level.OK, ", ".join(versions))


def backends(patient: Patient) -> Iterator[str]:
    """Yield the optional packages that the recipe's learner needs in this environment.

    SGLang is served from an environment of its own, which its launch shows to be there.
    """
    if patient.config is not None and patient.config.backend in OPTIONAL:
        yield patient.config.backend


def threads(patient: Patient) -> Iterator[Finding]:
    """Check that no second OpenMP thread spins beside other programs."""
    given = patient.environment.get("OMP_NUM_THREADS", "")
    passive = patient.environment.get("OMP_WAIT_POLICY", "").lower() == "passive"
    if given == "1" or passive:
        told = f"OMP_NUM_THREADS={given or 'unset'}{', OMP_WAIT_POLICY=passive' * passive}"
        yield Finding("threads", Level.OK, told)
    else:
        yield Finding(
            "threads",
            Level.DOUBT,
            f"OMP_NUM_THREADS is {given or 'unset'} and OMP_WAIT_POLICY not passive: spinning "
            "threads on a shared machine were measured up to twenty times slower; set "
            "OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive",
        )


def memory(patient: Patient) -> Iterator[Finding]:
    """Tell the memory that this machine has left."""
    found = available_bytes(patient.proc)
    if found is None:
        yield Finding("memory", Level.UNKNOWN, f"{patient.proc}/meminfo tells no memory here")
        return
    cores = len(os.sched_getaffinity(0))
    yield Finding("memory", Level.OK, f"{gib(found)} available, {cores} cores")


def available_bytes(proc: Path) -> int | None:
    """Return the memory that programs may still take, None where the kernel does not tell.

    Args:
        proc: Where the kernel's tables are.
    """
    try:
        told = (proc / "meminfo").read_text("utf-8")
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", told, flags=re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None


def gpus(patient: Patient) -> Iterator[Finding]:
    """Check that the GPUs are there which the recipe counts on."""
    seen = patient.gpus()
    wanted = 0 if patient.config is None else patient.config.hardware.gpus
    if len(seen) < wanted:
        yield Finding(
            "gpus",
            Level.FAULT,
            f"the recipe counts on {wanted} GPUs (hardware.gpus) and {len(seen)} are seen; run it "
            "where they are, or look at CUDA_VISIBLE_DEVICES and the driver",
        )
    for index, one in enumerate(seen):
        yield _gpu(index, one, patient)
    if not seen and not wanted:
        yield Finding("gpus", Level.OK, "none seen, and none is asked for")


def _gpu(index: int, one: Gpu, patient: Patient) -> Finding:
    told = f"{index}: {one.name}, {gib(one.free)} free of {gib(one.total)}"
    if patient.config is None or not patient.config.hardware.gpus:
        return Finding("gpus", Level.OK, told)
    planned = patient.config.hardware.gpu_memory_gib
    if one.total < planned * 2**30 * TIGHT:
        told += f"; the recipe plans with {planned:g} GiB: lower hardware.gpu_memory_gib to see"
        return Finding("gpus", Level.FAULT, told)
    if one.free < one.total * TIGHT:
        return Finding("gpus", Level.DOUBT, f"{told}; another program holds a part of it")
    return Finding("gpus", Level.OK, told)
