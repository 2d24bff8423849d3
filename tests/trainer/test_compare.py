"""Runs are compared by their records alone, over seeds, with what could be seen at all."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from ruamel.yaml import YAML
from typer.testing import CliRunner

from gate.contract import files
from gate.contract.paths import RunPaths
from trainer import compare, measured, recipe_file
from trainer.cli import app
from trainer.compare import Row
from trainer.recipe_file import RecipeError


def step(number: int, success: float, **other: Any) -> dict[str, Any]:
    return {
        "step": number,
        "revision": 0,
        "knobs_digest": "k",
        "success_by_arm": {"symbolic": success},
        "episodes_by_arm": {"symbolic": 4},
        "reward": success - 0.1,
        "agent_turns": 3.0,
        "action_tokens": 100,
        "step_s": 30.0,
        **other,
    }


def write(
    folder: Path,
    name: str,
    steps: Sequence[Mapping[str, Any]],
    *settings: str,
    recipe: str = "demo",
    **launched: Any,
) -> RunPaths:
    """Write a run's two records and return its paths."""
    paths = RunPaths(folder / name)
    paths.root.mkdir(parents=True)
    config = recipe_file.to_values(recipe_file.load(recipe, settings))
    record = {"run": name, "commit": "c", "config": config, **launched}
    with paths.launch.open("wb") as stream:
        YAML(typ="safe", pure=True).dump(record, stream)
    for one in steps:
        files.append_line(paths.steps, one)
    return paths


def seeded(folder: Path, successes: Sequence[float], *, recipe: str = "demo") -> list[RunPaths]:
    """Write one run a seed, each of one step."""
    return [
        write(folder, f"{recipe}-{seed}", [step(1, success)], f"seed={seed}", recipe=recipe)
        for seed, success in enumerate(successes)
    ]


def rows_of(paths: Sequence[RunPaths], *, last: int = 10) -> list[Row]:
    return compare.rows([measured.measure(one, last=last) for one in paths])


def printed(paths: Sequence[RunPaths], *, width: int = 100) -> str:
    found = [measured.measure(one) for one in paths]
    console = Console(file=io.StringIO(), width=width)
    compare.show(console, compare.rows(found), compare.notes(found))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_only_the_newest_steps_count_and_the_whole_run_is_paid_for(tmp_path: Path) -> None:
    paths = write(tmp_path, "a", [step(number, number / 10) for number in range(1, 7)])
    found = measured.measure(paths, last=2)
    assert found.steps == (5, 6)
    assert found.success == pytest.approx(0.55)
    assert found.reward == pytest.approx(0.45)
    assert found.agent_turns == 3.0
    assert (found.action_tokens, found.minutes) == (600, 3.0)


def test_arms_count_equally_however_many_episodes_each_played(tmp_path: Path) -> None:
    both = {"symbolic": 0.9, "noisy": 0.1}
    few = step(1, 0.0, success_by_arm=both, episodes_by_arm={"symbolic": 30, "noisy": 2})
    more = step(2, 0.0, success_by_arm={"noisy": 0.5}, episodes_by_arm={"noisy": 6})
    found = measured.measure(write(tmp_path, "a", [few, more]))
    # Noisy: (2 x 0.1 + 6 x 0.5) / 8 = 0.4.
    assert found.arms == ("noisy", "symbolic")
    assert found.success == pytest.approx((0.9 + 0.4) / 2)


def test_runs_that_differ_by_seed_alone_are_one_row(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, "a", [step(1, 0.5)], "seed=1"),
        write(tmp_path, "b", [step(1, 0.5)], "seed=2", "checkpoint.every=3", "threads=2"),
        write(tmp_path, "c", [step(1, 0.5)], "seed=1", "knobs.agent.actor_lr=1e-3"),
        write(tmp_path, "d", [step(1, 0.5)], "seed=1", tasks={"travel": {"digest": "f" * 64}}),
    ]
    found = rows_of(paths)
    assert [one.runs for one in found] == [("a", "b"), ("c",), ("d",)]
    assert [one.seeds for one in found] == [(1, 2), (1,), (1,)]
    assert [one.differs for one in found] == [
        {},
        {"knobs.agent.actor_lr": 1e-3},
        {"tasks.travel": "f" * 8},
    ]


def test_the_interval_is_students_over_seeds(tmp_path: Path) -> None:
    (found,) = rows_of(seeded(tmp_path, [0.4, 0.5, 0.6]))
    # Deviation 0.1, standard error 0.1 / sqrt(3), quantile of two degrees of freedom 4.3026527.
    assert found.success == pytest.approx(0.5)
    assert found.interval == pytest.approx((0.5 - 0.2484139, 0.5 + 0.2484139), abs=1e-6)
    # Against a second row just as noisy, four degrees of freedom: 3.7611 x sqrt(2) x 0.1 / sqrt(3).
    assert found.smallest == pytest.approx(0.307092, abs=1e-5)
    assert found.noise == "" and found.difference is None


def test_an_interval_of_a_share_stays_one(tmp_path: Path) -> None:
    (found,) = rows_of(seeded(tmp_path, [0.8, 1.0]))
    assert found.interval == (0.0, 1.0)


def test_a_difference_is_seen_through_the_noise_of_both_rows(tmp_path: Path) -> None:
    paths = [
        *seeded(tmp_path, [0.4, 0.5, 0.6]),
        *seeded(tmp_path, [0.5, 0.7, 0.9], recipe="grpo"),
    ]
    first, second = rows_of(paths)
    assert (first.recipe, second.recipe) == ("demo", "grpo")
    assert second.differs == {"learner.credit": "grpo", "rollout.group_size": 4}
    assert second.difference == pytest.approx(0.2)
    # Welch's 2.94 degrees of freedom count as two: 5.6535 x sqrt(0.01 / 3 + 0.04 / 3).
    assert second.smallest == pytest.approx(0.729862, abs=1e-5)


def test_one_seed_has_no_interval_and_says_so(tmp_path: Path) -> None:
    (alone,) = rows_of([write(tmp_path, "a", [step(1, 0.5)])])
    assert (alone.interval, alone.smallest) == (None, None)
    assert alone.noise == "one seed: no interval"
    text = printed([RunPaths(tmp_path / "a")])
    assert "one seed: no interval" in text


def test_many_seeds_beside_a_first_row_of_one_cannot_be_compared(tmp_path: Path) -> None:
    paths = [*seeded(tmp_path, [0.4]), *seeded(tmp_path, [0.5, 0.7], recipe="grpo")]
    second = rows_of(paths)[1]
    assert second.interval is not None and second.smallest is None
    assert second.noise == "first row: one seed: no interval"


def test_seeds_that_are_all_alike_are_no_sign_of_silence(tmp_path: Path) -> None:
    (found,) = rows_of(seeded(tmp_path, [1.0, 1.0, 1.0]))
    assert (found.interval, found.smallest) == (None, None)
    assert found.noise == "seeds all alike: noise unknown"


def test_two_runs_of_a_seed_are_one_draw(tmp_path: Path) -> None:
    values = {"a": (0, 0.2), "b": (0, 0.4), "c": (1, 0.7)}
    paths = [
        write(tmp_path, name, [step(1, success)], f"seed={seed}")
        for name, (seed, success) in values.items()
    ]
    (found,) = rows_of(paths)
    assert found.success == pytest.approx(0.5)
    assert found.seeds == (0, 1)
    assert found.remarks == ("1 more runs of the same seeds, averaged with them",)


def test_what_makes_runs_hard_to_compare_is_told(tmp_path: Path) -> None:
    noisy = step(2, 0.5, success_by_arm={"noisy": 0.5}, episodes_by_arm={"noisy": 4}, revision=3)
    paths = [
        write(tmp_path, "a", [step(1, 0.5)], "seed=1"),
        write(tmp_path, "b", [noisy], "seed=2", commit="other"),
        write(tmp_path, "c", [step(1, 0.5, knobs_digest="l")], "seed=3"),
    ]
    text = printed(paths)
    assert "knobs or worlds were edited in 1 of 3 runs" in text
    assert "runs started from different knob files" in text
    assert "note: the user was played by different arms (noisy; symbolic)" in text
    assert "note: runs end at different steps (1, 2)" in text
    assert "note: runs were launched from different commits" in text


def test_a_run_without_a_step_is_a_row_without_numbers(tmp_path: Path) -> None:
    paths = [write(tmp_path, "a", [])]
    (found,) = rows_of(paths)
    assert (found.steps, found.success, found.reward) == (None, None, None)
    assert found.noise == "no step yet"
    assert "no finished episode in a" in printed(paths)


def test_torn_and_strange_lines_hide_no_other(tmp_path: Path) -> None:
    strange = step(2, 0.5, reward=None, action_tokens=None, success_by_arm={"symbolic": None})
    paths = write(tmp_path, "a", [step(1, 0.5), strange, step(3, 0.7)])
    with paths.steps.open("ab") as file:
        file.write(b'{"step": 4, "success_by')
    (found,) = rows_of([paths])
    assert found.success == pytest.approx(0.6)
    assert found.action_tokens == 200
    assert found.remarks == ("1 unreadable lines left out",)


@pytest.mark.parametrize("content", [b"{", b"- 1\n", b"run: a\n", b"\xff\xfe"])
def test_a_damaged_launch_record_is_one_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    paths = write(tmp_path, "a", [])
    paths.launch.write_bytes(content)
    with pytest.raises(measured.MeasureError, match=r"run\.yaml"):
        measured.measure(paths)


def test_settings_that_there_are_no_longer_are_named(tmp_path: Path) -> None:
    paths = write(tmp_path, "a", [])
    text = paths.launch.read_text("utf-8").replace("total_steps:", "totals:")
    paths.launch.write_text(text, "utf-8")
    with pytest.raises(RecipeError, match="totals"):
        measured.measure(paths)


def test_the_names_of_runs_and_recipes_are_text(tmp_path: Path) -> None:
    text = printed([write(tmp_path, "a", [step(1, 0.5)], 'name="[red]x\\e[31m"')])
    assert "[red]x\\x1b[31m" in text and "\x1b" not in text


def test_a_table_of_two_recipes_fits_a_terminal(tmp_path: Path) -> None:
    paths = [*seeded(tmp_path, [0.4, 0.5]), *seeded(tmp_path, [0.5, 0.7], recipe="userrl")]
    table = printed(paths, width=80).split("\ndiff: ")[0]
    assert "…" not in table and max(map(len, table.splitlines())) <= 80
    for cell in ("2 userrl", "0.600 (0.00 to 1.00)", "+0.150", "1.826"):
        assert cell in table


def test_many_different_settings_are_counted_not_listed(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, "a", [step(1, 0.5)]),
        write(tmp_path, "b", [step(1, 0.5)], recipe="smollm2-in3"),
    ]
    assert len(rows_of(paths)[1].differs) > compare.SHOWN_SETTINGS
    assert f"and {len(rows_of(paths)[1].differs) - compare.SHOWN_SETTINGS} more" in printed(paths)


def test_a_recorded_run_can_be_compared(checkout: Path) -> None:
    found = measured.measure(RunPaths(checkout / "tests" / "golden" / "run-v1"))
    assert found.success is not None and found.action_tokens > 0
    assert set(found.arms) == {"noisy", "symbolic"}


def test_the_command_prints_json_and_counts_a_run_once(tmp_path: Path) -> None:
    seeded(tmp_path, [0.4, 0.6])
    (tmp_path / "latest").symlink_to("demo-1")
    words = ["compare", "demo-0", "demo-1", "latest", "--runs", str(tmp_path), "--last", "5"]
    outcome = CliRunner().invoke(app, [*words, "--json"])
    assert outcome.exit_code == 0, outcome.output
    values = json.loads(outcome.stdout)
    assert values["last"] == 5 and values["notes"] == []
    assert values["rows"][0]["runs"] == ["demo-0", "demo-1"]
    assert values["rows"][0]["success"] == pytest.approx(0.5)
    assert CliRunner().invoke(app, [*words, "--last", "0"]).exit_code == 2
