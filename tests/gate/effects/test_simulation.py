"""On runs whose truth is known, verdicts are right where rules of thumb are not."""

from __future__ import annotations

import runpy
import sys

import numpy as np
import pytest

from gate.effects import simulation
from gate.effects.simulation import TRUTHS, Rates


def rates(name: str, runs: int) -> Rates:
    return simulation.rates(TRUTHS[name], runs=runs, rng=np.random.default_rng(8))


def test_a_harm_of_a_tenth_is_found_nine_times_in_ten() -> None:
    found = rates("harm -.10", 3000)
    assert found.harm >= 0.90
    assert found.help == 0.0


def test_a_harm_of_a_fifth_is_found_within_three_steps() -> None:
    found = rates("harm -.20", 300)
    assert found.harm == 1.0
    assert found.median_steps == pytest.approx(3, abs=1)


def test_a_change_that_lags_is_not_called_a_harm() -> None:
    found = rates("dip, then help", 1500)
    assert found.harm <= 0.02
    assert found.help >= 0.75
    assert found.naive >= 0.70
    assert 0.15 <= found.naive_drop <= 0.30


def test_no_effect_is_no_harm_and_sometimes_a_provisional_help() -> None:
    found = rates("no effect", 1500)
    assert found.harm <= 0.01
    assert found.help <= 0.15
    assert 0.35 <= found.naive <= 0.50


def test_the_table_is_reproducible() -> None:
    assert simulation.table(runs=20, seed=3) == simulation.table(runs=20, seed=3)
    assert simulation.table(runs=20, seed=3) != simulation.table(runs=20, seed=4)


def test_harm_that_was_never_told_took_no_steps() -> None:
    assert rates("no effect", 5).median_steps is None


def test_the_command_prints_one_line_for_each_truth(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["effects", "--runs", "5", "--seed", "1"])
    runpy.run_module("gate.effects", run_name="__main__")
    printed = capsys.readouterr().out
    assert [line[:16].strip() for line in printed.splitlines()[1:]] == list(TRUTHS)
    assert "main" in runpy.run_module("gate.effects.__main__", run_name="imported")
