"""A world's code is loaded from where it stands, and shares no module with another world."""

import sys
from pathlib import Path

import pytest

from tests.trainer.worlds.stage import HOSTILE, task
from trainer.worlds import catalog
from trainer.worlds.loading import WorldLoadError, load_world, verifier_of


def test_files_of_a_world_reach_each_other(tmp_path: Path) -> None:
    world = load_world(HOSTILE / "calm").make(task("calm"), settings={}, seed=1)
    assert world.verdict().metrics == {"moves": 0}


def test_two_loads_share_no_module(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rules.py").write_text(f"NAME = '{name}'\n")
        (tmp_path / name / "env.py").write_text(
            "from . import rules\ndef make(task, *, settings, seed): return rules.NAME\n"
        )
    worlds = [load_world(tmp_path / name) for name in ("one", "two", "one")]
    assert [world.make(None, settings={}, seed=0) for world in worlds] == ["one", "two", "one"]
    assert worlds[0].rules is not worlds[2].rules


def test_an_edit_is_seen_by_the_next_load(tmp_path: Path) -> None:
    for revision in (1, 2):
        (tmp_path / "env.py").write_text(f"def make(task, *, settings, seed): return {revision}\n")
        assert load_world(tmp_path).make(None, settings={}, seed=0) == revision


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def make(:\n", r"SyntaxError: invalid syntax"),
        ("from . import verifier\n", r"cannot import name 'verifier'.*\(env\.py:1\)"),
        ("\nraise SystemExit(3)\n", r"SystemExit: 3 \(env\.py:2\)"),
        ("make = 1\n", r"no function `make\(task, \*, settings, seed\)`; define it"),
    ],
)
def test_code_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, source: str, says: str
) -> None:
    (tmp_path / "env.py").write_text(source)
    before = set(sys.modules)
    with pytest.raises(WorldLoadError, match=says):
        load_world(tmp_path)
    assert not {name for name in set(sys.modules) - before if name.startswith("eau_world")}


def test_code_outside_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "world").mkdir()
    (tmp_path / "elsewhere.py").write_text("def make(task, *, settings, seed): return 1\n")
    (tmp_path / "world" / "env.py").symlink_to(tmp_path / "elsewhere.py")
    with pytest.raises(WorldLoadError, match=r"no env\.py inside it"):
        load_world(tmp_path / "world")


def test_the_verifier_of_a_world_is_found_though_its_entry_does_not_name_it() -> None:
    world = load_world(catalog.world("tau2_mock").folder)
    assert not hasattr(world, "verifier")
    assert callable(verifier_of(world).rejudge)
