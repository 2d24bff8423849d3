"""A simulated fleet keeps its clock: times follow from the script, and chance from the seed."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from trainer.scheduling import fleet, workload
from trainer.scheduling.fleet import Fleet, Session
from trainer.scheduling.workload import Script, Workload

ALONE = Fleet(nodes=1, slots=1, token_s=0.01, half=10)


def play(engines: Fleet, *scripts: Script, enough: int | None = None) -> Session:
    queue = iter(scripts)
    return fleet.play(engines, lambda node, now: next(queue, None), enough=enough or len(scripts))


def test_a_dialogue_takes_its_tokens_and_its_waits() -> None:
    session = play(ALONE, Script((100, 50), (2.0, 3.0)), Script((100,), (1.0,)))
    # 1 + 2 + .5 + 3 seconds, then 1 + 1 in the same place.
    assert [one.ended_s for one in session.ended] == pytest.approx([6.5, 8.5])
    assert session.seated_s == pytest.approx(8.5)
    assert session.left == ()


def test_dialogues_that_decode_together_are_slower() -> None:
    both = Fleet(nodes=1, slots=2, token_s=0.01, half=10)
    session = play(both, Script((100,), (0.0,)), Script((100,), (0.0,)))
    # The first begins alone; the second finds one beside it: 1 + 1/10.
    assert [one.ended_s for one in session.ended] == pytest.approx([1.0, 1.1])


def test_engines_do_not_slow_each_other() -> None:
    apart = Fleet(nodes=2, slots=1, token_s=0.01, half=10)
    session = play(apart, Script((100,), (0.0,)), Script((100,), (0.0,)))
    assert [one.ended_s for one in session.ended] == pytest.approx([1.0, 1.0])


def test_a_late_answer_costs_its_dialogue_at_the_deadline() -> None:
    strict = Fleet(nodes=1, slots=1, token_s=0.01, half=10, turn_deadline_s=5.0)
    session = play(strict, Script((100, 100), (60.0, 0.0)), Script((100,), (1.0,)), enough=1)
    assert [(one.ended_s, one.whole) for one in session.ended] == [(6.0, False), (8.0, True)]


def test_a_long_dialogue_is_cut_at_its_own_deadline() -> None:
    strict = Fleet(nodes=1, slots=1, token_s=0.01, half=10, episode_deadline_s=4.0)
    (cut,) = play(strict, Script((100, 100), (1.0, 9.0))).ended
    assert (cut.ended_s, cut.whole) == (4.0, False)


def test_what_is_under_way_when_there_is_enough_is_let_go() -> None:
    both = Fleet(nodes=2, slots=1, token_s=0.01, half=10)
    session = play(both, Script((100,), (0.0,)), Script((900,), (0.0,)), enough=1)
    assert (len(session.ended), session.left) == (1, (0.0,))
    assert session.seated_s == pytest.approx(2.0)


def test_a_workload_has_the_means_and_the_share_that_it_states() -> None:
    load = Workload(mean_turns=8, turn_spread=0.5, straggler_share=0.02, straggler_s=77.0)
    drawn = list(islice(workload.scripts(load, np.random.default_rng(0)), 4000))
    turns = [len(one.tokens) for one in drawn]
    assert np.mean(turns) == pytest.approx(8, rel=0.05)
    assert np.std(turns) / np.mean(turns) == pytest.approx(0.5, rel=0.1)
    waits = [wait for one in drawn for wait in one.waits_s]
    assert np.mean([wait == 77.0 for wait in waits]) == pytest.approx(0.02, rel=0.15)
    tokens = [count for one in drawn for count in one.tokens]
    assert np.mean(tokens) == pytest.approx(150, rel=0.05)


def test_the_same_seed_gives_the_same_dialogues() -> None:
    first, second = (
        list(islice(workload.scripts(Workload(), np.random.default_rng(7)), 5)) for _ in range(2)
    )
    assert first == second
