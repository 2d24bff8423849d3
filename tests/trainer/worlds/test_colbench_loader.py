"""Colbench reads the benchmark's files line by line, and its real references pass."""

from __future__ import annotations

import ast
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from trainer.task import Task
from trainer.users.cues import build_table, words_of
from trainer.worlds import catalog
from trainer.worlds.colbench import derived, grading
from trainer.worlds.colbench.tasks.family import KINDS
from trainer.worlds.sandbox.program import Namespace, Outcome

RECORD = {
    "problem_description": "Write f. The signature is: def f(x)",
    "ground_truth": "def f(x):\n    return x",
    "test_cases": {"test1": "f(1)", "test2": "f(2)"},
}
RECORDED_CHARS = 200
"""Longest printed form that the file of recorded outputs holds; longer ones are cut."""
PLAIN = 30
"""Real tasks that the plain suite plays; all of them are played with `-m slow`."""


def write(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_file_a_dataset_folder_and_a_copy_are_read_alike(tmp_path: Path) -> None:
    write(tmp_path / "set" / "backend_tasks" / "train.jsonl", RECORD)
    write(tmp_path / "set" / "backend_tasks" / "test.jsonl", RECORD)
    copied = {key: RECORD[key] for key in ("problem_description", "test_cases")}
    copy = write(tmp_path / "copy" / "backend_test.jsonl", copied | {"hidden_information": "x = 1"})
    for split in catalog.SPLITS:
        (entry,) = catalog.tasks("colbench", split, tmp_path / "set")
        assert entry.payload == {"reference": RECORD["ground_truth"], "calls": ["f(1)", "f(2)"]}
    (by_folder,) = catalog.tasks("colbench", "evaluation", tmp_path / "copy")
    (by_file,) = catalog.tasks("colbench", "evaluation", copy)
    assert by_folder == by_file
    assert by_file.payload["reference"] == "x = 1"
    assert by_file.provenance == f"ColBench {copy}"


def test_calls_may_be_a_list(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", RECORD | {"test_cases": ["f(3)"]})
    assert catalog.tasks("colbench", "train", path)[0].payload["calls"] == ["f(3)"]


def test_a_key_of_megabytes_is_told_and_not_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "a.jsonl", *[RECORD | {"notes": "x" * 3_000_000, "hue": 1}] * 2)
    with caplog.at_level(logging.WARNING):
        tasks = catalog.tasks("colbench", "train", path)
    assert [entry.extra for entry in tasks] == [{"hue": 1}] * 2
    assert caplog.text.count("hue, notes") == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", ":1: not JSON"),
        ("[" * 100_000, ":1: not JSON"),
        ("[]", ":1: a task is an object"),
        ('{"a": 1}', "task 0 does not have ColBench's schema"),
        (json.dumps(RECORD | {"test_cases": {}}), "at least one call"),
        (json.dumps(RECORD | {"ground_truth": 5}), "must be text"),
    ],
)
def test_an_unusable_line_is_refused_with_its_place(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ValueError, match=message):
        catalog.tasks("colbench", "train", path)


def test_facts_are_read_off_a_reference() -> None:
    reference = (
        "def fee(days, member):\n"
        "    if days < 0:\n        return 0\n"
        "    rate = 2.5\n"
        "    if member:\n        rate = 1.5\n"
        "    return {'fee': days * rate}\n"
    )
    found = derived.facts(reference)
    assert [(fact.kind, fact.statement) for fact in found] == [
        ("signature", "It is given days, then member."),
        ("edge_case", "If days is below 0, the result is 0."),
        ("branch", "If member, rate is 1.5."),
        ("constant", "For rate I take 2.5."),
        ("constant", "For rate I take 1.5."),
        ("return_shape", "In the end I want a dictionary."),
    ]


@pytest.mark.parametrize("reference", ["def f(:", "x = 1", "\0", "(" * 5000])
def test_what_is_no_function_has_no_facts(reference: str) -> None:
    assert derived.facts(reference) == ()


def real_tasks(test_data: Path) -> tuple[Task, ...]:
    path = test_data / "colbench" / "backend_test_first200.jsonl"
    if not path.is_file():
        pytest.skip(f"no ColBench tasks at {path}")
    return catalog.tasks("colbench", "evaluation", path)


def test_every_real_task_has_facts_that_a_question_finds(test_data: Path) -> None:
    tasks = real_tasks(test_data)
    assert len(tasks) == 200
    for entry in tasks:
        assert 1 <= len(entry.facts) <= derived.MAX_FACTS
        assert {fact.kind for fact in entry.facts} <= set(KINDS)
        table = build_table(entry)
        for fact in entry.facts:
            assert table.match(words_of(fact.cues[0])), (entry.id, fact)
            assert len(fact.statement) <= 400
        _assert_no_leak(entry)


def _assert_no_leak(entry: Task) -> None:
    """No statement holds 40 characters of the reference or 0.6 of its words."""
    reference = " ".join(entry.payload["reference"].lower().split())
    words = set(reference.split())
    for fact in entry.facts:
        said = " ".join(fact.statement.lower().split())
        assert not any(said[at : at + 40] in reference for at in range(len(said) - 39)), fact
        assert len(words & set(said.split())) < 0.6 * len(words), fact


def test_outputs_of_all_real_references_are_the_recorded_ones(test_data: Path) -> None:
    """Each equals the file's by its printed form and its type."""
    path = test_data / "colbench" / "oracle_gt_outputs_first200.jsonl"
    tasks, lines = real_tasks(test_data), path.read_text().splitlines()
    for index, (entry, line) in enumerate(zip(tasks, lines, strict=True)):
        recorded = json.loads(line)
        assert recorded["index"] == index
        results = grading.references(entry.payload, Namespace.FRESH)
        assert len(results) == len(recorded["outputs"]) == 10
        for result, expected in zip(results, recorded["outputs"], strict=True):
            assert result.outcome is Outcome.VALUE, (entry.id, result)
            assert type(result.value).__name__ == expected["type"], entry.id
            assert _same_print(result.value, expected["repr"]), (entry.id, expected)


def test_real_references_pass_and_are_reachable(test_data: Path) -> None:
    cast = env_suite.cast("colbench")
    for entry in real_tasks(test_data)[:PLAIN]:
        env_suite.is_reachable(cast, entry, "full")


@pytest.mark.slow
def test_all_real_references_pass_and_idling_earns_nothing(test_data: Path) -> None:
    cast = env_suite.cast("colbench")
    for entry in real_tasks(test_data):
        env_suite.is_reachable(cast, entry, "full")
        env_suite.has_a_floor(cast, entry)


def _same_print(value: Any, printed: str) -> bool:
    if len(printed) == RECORDED_CHARS:
        return repr(value).startswith(printed)
    try:
        return repr(value) == printed or value == ast.literal_eval(printed)
    except ValueError:
        return False
