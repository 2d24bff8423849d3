"""Every measurement runs at tiny sizes and hands over finite, positive figures and its ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from trainer.bench import (
    BENCHES,
    masked_gae,
    methods,
    peers,
    reconcile,
    rollout,
    scripted,
    step_overhead,
    update,
    user_replies,
)
from trainer.bench.figures import Figure
from trainer.bench.forced import Layout, demo_model, play, sampler_for
from trainer.ppo.credit import ESTIMATORS

# The kernel counts other processes in ticks of 10 ms, and two dialogues take less than one.
MAY_BE_NONE = ("mismatches", "worlds' own CPU")


def checked(figures: Sequence[Figure]) -> Mapping[str, Figure]:
    """Return the figures by name, each of them a number that a measurement can have."""
    by_name = {figure.name: figure for figure in figures}
    assert len(by_name) == len(figures), "a name stands for one figure"
    for figure in figures:
        assert math.isfinite(figure.value), figure
        none_possible = any(name in figure.name for name in MAY_BE_NONE)
        assert figure.value > 0 or (none_possible and figure.value == 0), figure
        assert figure.cpu_per_wall is None or 0 < figure.cpu_per_wall <= 1.5, figure
    return by_name


def test_a_changed_knob_file_costs_more_than_an_unchanged_one():
    found = checked(reconcile.measure(reconcile.Sizes(calls=20, edits=3)))
    assert found["changed against unchanged"].value > 1
    assert found["reconcile, nothing changed"].limit is not None


def test_the_symbolic_user_is_timed_in_every_world():
    found = checked(user_replies.measure(user_replies.Sizes(episodes=6, rounds=2)))
    for world in ("travel", "intention"):
        assert found[f"replies in {world}"].limit == (10_000.0, False)


def test_every_world_that_is_python_alone_is_timed():
    found = checked(scripted.measure(scripted.Sizes(episodes=4, rounds=1)))
    for world in ("travel", "intention", "function", "telepathy", "turtle", "persuasion", "search"):
        assert found[f"episodes in {world}"].limit == (300.0, False)


def test_the_sampler_is_compared_with_rereading_at_every_number_of_turns():
    sizes = rollout.Sizes(dialogues=2, prompt=6, observation=6, reply=3, turns=(2, 8), rounds=1)
    found = checked(rollout.measure(sizes))
    assert found["sampler against generate(), 2 turns"].limit is None
    assert found["sampler against generate(), 8 turns"].limit == (3.0, False)


def test_an_update_costs_more_than_one_plain_pass():
    layout = Layout(dialogues=4, prompt=8, reply=8, turns=2, observation=8)
    found = checked(update.measure(update.Sizes(layout=layout, rounds=1)))
    plain = found["update against plain"].value
    assert plain > 1
    assert found["update against its own passes"].value == pytest.approx(plain * 3 / 8)
    assert found["a token of unequal dialogues"].unit == "x"


def test_every_method_of_credit_is_timed_against_ppo_on_the_same_groups():
    layout = Layout(dialogues=8, prompt=8, reply=4, turns=3, observation=8)
    found = checked(methods.measure(methods.Sizes(layout=layout, rounds=1)))
    others = [name for name in ESTIMATORS if name != methods.PPO]
    assert set(found) == {
        "PPO step on groups of four",
        *(f"step with {name} against PPO" for name in others),
    }
    assert all(found[f"step with {name} against PPO"].unit == "x" for name in others)


def test_the_groups_hold_all_that_any_method_reads():
    layout = Layout(dialogues=8, prompt=8, reply=4, turns=3, observation=8)
    model = demo_model()
    sampler = sampler_for(model, layout)
    played = play(sampler, layout, vocab_size=model.config.vocab_size, seed=0)
    sampler.close()
    batch = methods.grouped(played, layout, vocab_size=model.config.vocab_size)
    assert [one.group_id for one in batch] == ["g0"] * 4 + ["g1"] * 4
    assert all(len(one.reactions) == 2 and len(one.masked_feedback) == 3 for one in batch)
    assert len({reaction.polarity for one in batch for reaction in one.reactions}) == 3


def test_the_parts_of_a_step_add_up_to_all_but_the_model():
    sizes = step_overhead.Sizes(steps=1, dialogues=2, warm_start_steps=1, demonstrations=8)
    found = checked(step_overhead.measure(sizes))
    parts = sum(figure.value for name, figure in found.items() if name.startswith("- "))
    assert parts == pytest.approx(found["all but the model"].value)
    assert {"- worlds", "- users", "- records", "- knobs", "- checkpoints"} <= found.keys()


def test_the_parts_of_the_peers_step_are_no_longer_than_the_step():
    layout = Layout(dialogues=2, prompt=4, reply=4, turns=1)
    found = checked(peers.measure(peers.Sizes(layout=layout, steps=2, drop=1, models=("nano",))))
    parts = sum(found[f"- nano: {part}"].value for part in ("rollout", "score", "learn"))
    assert parts == pytest.approx(found["nano: step"].value, rel=0.01)


def test_masked_gae_agrees_with_its_definition_on_every_layout():
    sizes = masked_gae.Sizes(rows=4, width=64, turns=4, rounds=2, layouts=40)
    found = checked(masked_gae.measure(sizes))
    assert found["mismatches on 40 random layouts"].value == 0
    assert found["plain Python against it"].value > 0


def test_quick_and_full_differ_in_repetitions_alone():
    assert rollout.QUICK.turns == rollout.FULL.turns
    assert update.QUICK.layout == update.FULL.layout
    assert methods.QUICK.layout == methods.FULL.layout
    assert peers.QUICK.layout == peers.FULL.layout
    assert peers.QUICK.models == peers.FULL.models
    assert (masked_gae.QUICK.rows, masked_gae.QUICK.width) == (256, 1024)
    assert step_overhead.QUICK.dialogues == step_overhead.FULL.dialogues


def test_every_measurement_says_what_it_answers():
    assert list(BENCHES) == [
        "reconcile",
        "user",
        "worlds",
        "sandbox",
        "rollout",
        "update",
        "methods",
        "step",
        "peers",
        "gae",
    ]
    assert all(bench.question.endswith("?") for bench in BENCHES.values())
