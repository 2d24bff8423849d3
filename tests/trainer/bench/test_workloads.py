"""What is compared is the same work: forced lengths, histories read whole, clocks that add up."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
import torch

from trainer.bench.forced import Layout, demo_model, play, sampler_for
from trainer.bench.rollout import reread
from trainer.bench.timing import (
    Account,
    Spent,
    Watched,
    descendants_cpu_s,
    median_ratio,
    take_turns,
)
from trainer.bench.update import cut_at_turns

LAYOUT = Layout(dialogues=3, prompt=5, reply=4, turns=3, observation=2)


def test_forced_dialogues_have_the_layout_that_was_asked_for():
    model = demo_model()
    dialogues = play(sampler_for(model, LAYOUT), LAYOUT, vocab_size=64, seed=1)
    assert [len(one.ids) for one in dialogues] == [LAYOUT.tokens] * 3 == [21] * 3
    assert sum(one.num_actions for one in dialogues) == LAYOUT.written == 36
    turn = [False] * 2 + [True] * 4
    assert list(dialogues[0].action_mask) == [False] * 5 + [True] * 4 + turn + turn
    assert LAYOUT.length_before(2) == 17


def test_the_same_seed_plays_the_same_dialogues():
    model = demo_model()
    first, again, other = (
        play(sampler_for(model, LAYOUT), LAYOUT, vocab_size=64, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert [one.ids for one in first] != [one.ids for one in other]


def test_dialogues_are_cut_after_a_turn_and_never_within_one():
    whole = play(sampler_for(demo_model(), LAYOUT), LAYOUT, vocab_size=64, seed=1)
    for one, piece in zip(whole, cut_at_turns(whole, LAYOUT), strict=True):
        assert len(piece.ids) in (9, 15, 21)
        assert piece.ids == one.ids[: len(piece.ids)]
        assert piece.num_actions % LAYOUT.reply == 0


def test_the_cpu_time_of_a_child_is_seen_while_it_lives_and_of_its_own_after_they_ended():
    before = descendants_cpu_s()
    inner = "[sys.executable, '-c', 'sum(range(10**7))']"
    outer = f"import subprocess, sys; subprocess.run({inner}); input()"
    with subprocess.Popen([sys.executable, "-c", outer], stdin=subprocess.PIPE) as child:
        deadline = time.monotonic() + 30.0
        while descendants_cpu_s() - before < 0.05 and time.monotonic() < deadline:
            time.sleep(0.05)
        found = descendants_cpu_s() - before
        child.communicate(b"\n")
    assert found >= 0.05


def test_the_baseline_writes_as_many_tokens_as_the_sampler():
    ids = torch.randint(64, (3, LAYOUT.tokens), generator=torch.Generator().manual_seed(0))
    assert reread(demo_model(), ids, LAYOUT) == LAYOUT.written


def test_compared_works_take_turns_and_warm_up_rounds_do_not_count():
    calls: list[str] = []
    works = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    spent = take_turns(works, rounds=2, warm_up=1)
    assert calls == ["a", "b"] * 3
    assert [len(spent[name]) for name in works] == [2, 2]


def test_a_ratio_is_the_median_of_rounds_so_that_one_slow_round_does_not_count():
    over = [Spent(9, 2.0), Spent(9, 4.0), Spent(9, 300.0)]
    under = [Spent(9, 1.0), Spent(9, 2.0), Spent(9, 3.0)]
    assert median_ratio(over, under) == 2.0


def test_a_watched_object_answers_as_before_and_its_time_is_accounted():
    account = Account()
    words = Watched([3, 1, 2], account, {"sort": "sorting"}, rest="other")
    words.sort()
    words.append(4)
    words.append(5)
    assert words.copy() == [1, 2, 3, 4, 5]
    assert list(account.spent) == ["sorting", "other"]
    assert all(one.wall_s >= 0 and one.cpu_s >= 0 for one in account.spent.values())


def test_the_time_of_a_call_that_raises_is_accounted_too():
    account = Account()
    with pytest.raises(ValueError, match="not in list"):
        Watched([], account, {}, rest="search").index(1)
    assert account.spent["search"].wall_s > 0
