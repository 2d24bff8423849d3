"""What a run's launch says about itself is read in bounded time, and attempts are counted."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gate.contract import evaluation_words, launch_record, protected
from gate.contract.launch_record import LaunchRecord
from gate.contract.paths import RunPaths
from tests import proposed


def chain(runs: Path, names: str) -> Path:
    """Make runs of these one-letter names, each the parent of the next; returns the last."""
    parent: str | None = None
    for name in names:
        run = RunPaths(runs / name)
        run.root.mkdir(parents=True)
        proposed.record_launch(run, parent=parent)
        parent = name
    return runs / names[-1]


def test_a_launch_record_is_read_as_far_as_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        "run: x\nparent: first\nattempt: 2\nversions:\n  python: 3.11\n"
        "protected:\n  gate: '12e3'\n  trainer: 12e3\nconfig: {name: [not, {read: *at all}}\n"
    )
    found = launch_record.read(tmp_path)
    assert found == LaunchRecord("first", 2, {"gate": "12e3", "trainer": "12e3"})


def test_a_launch_record_names_the_folder_that_is_watched(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("run: x\nknobs: /data/it's mine\nconfig: {knobs: {}}\n")
    assert launch_record.read(tmp_path).knobs == "/data/it's mine"
    (tmp_path / "run.yaml").write_text("run: x\nknobs: null\nconfig:\n  knobs: /no\n")
    assert launch_record.read(tmp_path).knobs is None


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"attempt: [\n", b"attempt: many\n"])
def test_a_record_that_is_missing_or_damaged_says_nothing(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "run.yaml").write_bytes(content)
    assert launch_record.read(tmp_path) == LaunchRecord()


@pytest.mark.parametrize(("names", "attempt"), [("a", 1), ("abc", 3), ("abcde", 5), ("abcdef", 6)])
def test_attempts_are_counted_over_the_parents(tmp_path: Path, names: str, attempt: int) -> None:
    assert launch_record.attempt(chain(tmp_path, names)) == attempt


def test_a_removed_parent_and_a_modest_record_give_no_attempt_back(tmp_path: Path) -> None:
    last = RunPaths(chain(tmp_path, "abc"))
    (tmp_path / "a" / "run.yaml").unlink()
    assert launch_record.attempt(last.root) == 3
    proposed.record_launch(last, parent="b", attempt=5)
    assert launch_record.attempt(last.root) == 5
    proposed.record_launch(RunPaths(tmp_path / "b"), parent="c")
    assert launch_record.attempt(last.root) > 5  # a circle never ends


@pytest.mark.parametrize("parent", ["../a", ".."])
def test_a_parent_elsewhere_is_not_followed(tmp_path: Path, parent: str) -> None:
    run = RunPaths(tmp_path / "runs" / "b")
    run.root.mkdir(parents=True)
    proposed.record_launch(run, parent=parent)
    assert launch_record.attempt(run.root) == 1


def checkout(root: Path) -> Path:
    """Make a small checkout with both protected trees."""
    for name in ("gate/rules/pace.py", "trainer/loop.py", "skill/free.py"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def test_a_change_of_protected_code_is_found_by_folder(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    launched = protected.digests(root)
    assert set(launched) == {"gate/rules", "trainer"}
    (root / "gate" / "rules" / "__pycache__").mkdir()
    (root / "gate" / "rules" / "__pycache__" / "pace.pyc").write_text("compiled")
    (root / "skill" / "free.py").write_text("edited")
    assert protected.differences({**launched, "world/0000": "other"}, protected.digests(root)) == ()
    (root / "gate" / "rules" / "pace.py").write_text("def check(_): return ()")
    (root / "trainer" / "worlds").mkdir()
    (root / "trainer" / "worlds" / "new.py").write_text("")
    found = protected.digests(root)
    assert protected.differences(launched, found) == ("gate/rules", "trainer/worlds")


def test_links_in_protected_folders_count_as_what_they_hold(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    before = protected.digests(root)
    (root / "trainer" / "here").symlink_to(root / "skill")
    linked = protected.digests(root)
    assert protected.differences(before, linked) == ("trainer",)
    (root / "trainer" / "here").unlink()
    (root / "trainer" / "here").symlink_to(root / "gate")
    assert protected.differences(linked, protected.digests(root)) == ("trainer",)


def test_the_protected_folders_of_this_checkout_are_digested_quickly() -> None:
    began = time.process_time()
    found = protected.digests()
    assert time.process_time() - began <= 0.2
    assert {"gate/rules", "gate/contract", "trainer/worlds/travel/evaluation"} <= set(found)


def test_words_of_the_evaluation_are_ids_canaries_and_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "trainer" / "worlds" / "toy" / "evaluation"
    folder.mkdir(parents=True)
    (folder / "tasks.jsonl").write_text('{"id": "Toy-1", "canary": "EAU-1"}\n{"id": "12"}\n')
    monkeypatch.setenv(evaluation_words.ROOT_VARIABLE, "/Data/Tests/")
    words = evaluation_words.words(["toy"], tmp_path)
    assert words == {"toy-1", "eau-1", "toy/evaluation", "eau_eval_root", "/data/tests"}
    monkeypatch.delenv(evaluation_words.ROOT_VARIABLE)
    assert evaluation_words.words([], tmp_path) == {"eau_eval_root"}
    assert len(evaluation_words.words(["travel"])) > 80


def test_the_sizes_of_a_run_are_read_where_they_are_told(run_dir: Path) -> None:
    assert launch_record.sizes(run_dir) == launch_record.Sizes()
    config = "config:\n  total_steps: 50\n  rollout:\n    dialogues_per_step: 32\n"
    (run_dir / "run.yaml").write_text(config)
    assert launch_record.sizes(run_dir) == launch_record.Sizes(50, 32)
    (run_dir / "run.yaml").write_text(f"{config}    group_size: 4\n")
    assert launch_record.sizes(run_dir) == launch_record.Sizes(50, 8)
