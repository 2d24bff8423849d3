"""Every knob names a measure that the records hold, and the measures count what they say."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from gate.contract import files, knobs, records
from trainer import conversation
from trainer.episode import Episode, Speaker, StopReason, Turn, Voice

GOLDEN = Path(__file__).parents[1] / "golden"


def reply(text: str, *revealed: str, act: str = "ask", match: str = "open") -> Turn:
    private = {"act": act, "match": match}
    return Turn(Speaker.USER, text, 0, Voice.SYMBOLIC, revealed=revealed, private=private)


def episode(
    *turns: Turn, arm: Voice = Voice.SYMBOLIC, stop: StopReason = StopReason.SOLVED
) -> Episode:
    return Episode("000001-00", "t", "travel", arm, turns, (), stop, revision=0, seed=0)


@pytest.mark.parametrize("path", sorted(knobs.specs()))
def test_the_measure_by_which_a_knob_shows_its_effect_is_on_file(path: str) -> None:
    measure = knobs.specs()[path].proximal
    fields = {entry.name for entry in dataclasses.fields(records.StepRecord)}
    steps = [
        record
        for run in GOLDEN.glob("run-*")
        for record in files.read_lines(run / "steps.jsonl").records
    ]
    learner = {name for record in steps for name in record["learner"]}
    known = {"none", *fields, *(f"conversation.{name}" for name in records.CONVERSATION)}
    assert measure in known | {f"learner.{name}" for name in learner}


def test_measures_are_the_declared_ones_and_none_is_invented_from_nothing() -> None:
    whole = conversation.measure([episode(Turn(Speaker.AGENT, "hi", 0), reply("yes", "P1"))])
    assert set(whole) == set(records.CONVERSATION)
    assert conversation.measure([]) == {}


def test_replies_are_counted_by_what_they_disclose() -> None:
    found = conversation.measure(
        [
            episode(
                reply("quiet, sunny", "P1", "P2"),
                reply("quiet", "P1"),
                reply("By the way, near", "P3", act="other", match="none"),
                reply("No wish there.", match="none"),
            )
        ]
    )
    assert found["facts_per_reply"] == pytest.approx(4 / 3, abs=1e-6)
    assert found["reveals_per_fact"] == pytest.approx(4 / 3, abs=1e-6)
    assert found["volunteered_share"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["unmatched_share"] == pytest.approx(1 / 3, abs=1e-6)


def test_arms_limits_and_unreadable_turns_are_shares() -> None:
    bad = Turn(Speaker.TOOL, "?", 0, events=("malformed",))
    spoken = Turn(Speaker.AGENT, "x", 0)
    found = conversation.measure(
        [
            episode(spoken, bad, arm=Voice.NOISY, stop=StopReason.OUT_OF_STEPS),
            episode(spoken, reply("yes", "P1")),
        ]
    )
    assert found["symbolic_share"] == 0.5
    assert found["cap_hit_share"] == 0.5
    assert found["malformed_share"] == 0.5
