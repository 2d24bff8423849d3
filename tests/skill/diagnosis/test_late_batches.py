"""Batches of one age are held against their own kind before a sampler is called stale."""

from __future__ import annotations

from skill.diagnosis.detectors import stale_sampler
from tests.skill.recorded import steps, window

AGES = [0, 1, 1, 1] * 10
"""A run whose steps overlap, saved after every fourth."""


def test_what_an_update_changes_is_no_fault_of_the_sampler() -> None:
    well = window(
        steps=steps(
            40,
            staleness=AGES,
            sampler_logprob_gap_mean=[1e-6, 0.06, 0.07, 0.05] * 10,
            tis_clipped_fraction=[0.0, 0.01, 0.02, 0.01] * 10,
        )
    )
    assert stale_sampler.detect(well) is None


def test_a_failed_sync_shows_where_the_batch_is_not_late() -> None:
    gaps = [
        0.03 if place >= 28 else usual for place, usual in enumerate([1e-6, 0.03, 0.03, 0.03] * 10)
    ]
    found = stale_sampler.detect(
        window(steps=steps(40, staleness=AGES, sampler_logprob_gap_mean=gaps))
    )
    assert found is not None and found.evidence == (
        "steps.jsonl#29",
        "steps.jsonl#33",
        "steps.jsonl#37",
    )
    assert "old" not in found.sentence


def test_late_batches_that_are_ten_times_as_far_off_as_late_ones_were() -> None:
    gaps = [0.006] * 37 + [0.09] * 3
    found = stale_sampler.detect(
        window(steps=steps(40, staleness=[1] * 40, sampler_logprob_gap_mean=gaps))
    )
    assert found is not None and "whose batch is 1 update old" in found.sentence


def test_weights_that_are_cut_are_told_of_late_batches_too() -> None:
    found = stale_sampler.detect(
        window(steps=steps(40, staleness=[1] * 40, tis_clipped_fraction=[0.01] * 37 + [0.2] * 3))
    )
    assert found is not None and "20% of the importance weights are cut" in found.sentence


def test_records_that_know_no_staleness_are_of_batches_that_are_not_late() -> None:
    ill = window(steps=steps(40, sampler_logprob_gap_mean=[1e-3] * 37 + [0.03] * 3))
    assert stale_sampler.detect(ill) is not None
