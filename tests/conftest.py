"""What every test may rely on: one torch thread, real data by path, a run directory of its own.

Nothing here imports torch, so tests that need no tensors stay as fast as they look.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import tiny_run
from tests.nursery import Nursery

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# On shared cores one slow example proves nothing, and the same commit must give the same result.
settings.register_profile(
    "shared-cores",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shared-cores")

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def one_torch_thread() -> Iterator[None]:
    """Hold torch, where a test has imported it, to one thread.

    Two spinning threads on shared cores cost up to twenty times the time, and a sum split over
    threads may round differently.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)
    yield


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the repository under test."""
    return CHECKOUT


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The directory of real data sets: `$EAU_TEST_DATA`, else `../shared/data`; skips without."""
    named = os.environ.get("EAU_TEST_DATA")
    path = Path(named) if named else CHECKOUT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"no real data at {path}; set EAU_TEST_DATA to the directory that holds it")
    return path


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Whoever starts trainers for tests; begun with the first test that asks."""
    with Nursery(tmp_path_factory.mktemp("nursery")) as nursery:
        yield nursery


@pytest.fixture(scope="session")
def seedling(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a tiny run that stopped before its first step; copy it, do not touch it."""
    folder = tmp_path_factory.mktemp("seedling")
    recipe = tiny_run.write_recipe(folder)
    child = nursery.run("plant", recipe, folder / "runs", "seedling", folder / "knobs")
    assert child.returncode == 0, child.told()
    return folder / "runs" / "seedling"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """An empty run directory, below a `runs/` of the test's own."""
    path = tmp_path / "runs" / "test-run"
    path.mkdir(parents=True)
    return path
