"""The small tier of colbench: three numbers to ask for, each of which decides something."""

from __future__ import annotations

import re

import pytest

from tests.conformance import env_suite
from tests.conformance.env_suite import Cast
from trainer.episode import Speaker
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.colbench.tasks import small

NUMBER = re.compile(r"[0-9]+")


@pytest.fixture(scope="module")
def cast() -> Cast:
    return env_suite.cast("colbench")


def tier(split: str) -> list[Task]:
    return [entry for entry in catalog.tasks("colbench", split) if small.holds(entry)]


def said(cast: Cast, entry: Task, player: str, seed: int = 1) -> list[str]:
    episode = cast.play(entry, player, style="compact", seed=seed)
    return [turn.text for turn in episode.turns if turn.speaker is Speaker.AGENT]


def value_of(entry: Task, code: str) -> list[int]:
    """What a line of code gives for the task's calls, by a reading of its own."""
    rate, free, fee, cap = terms(entry, code)
    counts = [int(NUMBER.findall(call)[0]) for call in entry.payload["calls"]]
    return [min(max(count - free, 0) * rate + fee, cap) for count in counts]


def terms(entry: Task, code: str) -> tuple[int, int, int, int]:
    numbers = [int(number) for number in NUMBER.findall(code.replace(",0)", ")"))]
    names = sorted(
        (fact.text.partition(" = ")[0] for fact in entry.facts),
        key=["free", "rate", "fee", "cap"].index,
    )
    found = dict(zip(names, numbers, strict=True))
    return found["rate"], found.get("free", 0), found.get("fee", 0), found.get("cap", 10**6)


def test_there_are_tasks_of_both_splits_and_no_function_is_in_both() -> None:
    codes = {
        split: [entry.payload["reference"] for entry in tier(split)] for split in small.NUM_TASKS
    }
    assert {split: len(found) for split, found in codes.items()} == small.NUM_TASKS
    for split, found in codes.items():
        assert len(set(found)) == len(found)
        assert {small.split_of(code) for code in found} == {split}


def test_other_seeds_give_other_tasks_and_no_function_to_both_splits() -> None:
    made = {
        (split, seed): {one["ground_truth"] for one in small.make_records(split, seed=seed)}
        for split in small.NUM_TASKS
        for seed in range(3)
    }
    assert made["train", 0] != made["train", 1]
    seen = {
        split: set().union(*(made[split, seed] for seed in range(3))) for split in small.NUM_TASKS
    }
    assert not seen["train"] & seen["evaluation"]


def test_an_opening_names_what_to_ask_for_and_no_number() -> None:
    for entry in tier("train"):
        assert not NUMBER.search(entry.opening)
        assert all(cue in entry.opening for fact in entry.facts for cue in fact.cues)
        assert len(entry.facts) == 3


def test_the_references_are_what_their_numbers_say() -> None:
    for entry in tier("train"):
        outputs = [int(output) for output in entry.payload["outputs"]]
        assert outputs == value_of(entry, entry.payload["reference"])


def test_whoever_does_not_know_a_number_fails_a_call_unless_it_is_the_usual_one() -> None:
    for entry in tier("evaluation"):
        for missing in entry.facts:
            known = [fact.id for fact in entry.facts if fact is not missing]
            code = small.assumed(entry, known)
            right = value_of(entry, entry.payload["reference"])
            assert (value_of(entry, code) == right) == (code == entry.payload["reference"])


def test_the_expert_asks_in_a_word_and_answers_in_a_line(cast: Cast) -> None:
    entry = tier("train")[0]
    names = [fact.cues[0] for fact in entry.facts]
    assert said(cast, entry, "oracle") == [
        *(f"[action] {name}?" for name in names),
        f"[answer] {entry.payload['reference']}",
    ]


def test_the_hasty_player_fills_in_what_it_did_not_ask(cast: Cast) -> None:
    shares = []
    for seed, entry in enumerate(tier("train")[:24]):
        *questions, answer = said(cast, entry, "hasty", seed)
        asked = [fact.id for fact in entry.facts if f"[action] {fact.cues[0]}?" in questions]
        assert answer == f"[answer] {small.assumed(entry, asked)}"
        shares.append(len(asked) / 3)
    assert 0.3 < sum(shares) / len(shares) < 0.7


def test_a_task_of_a_family_has_no_usual_numbers() -> None:
    entry = catalog.tasks("colbench", "train")[0]
    with pytest.raises(ValueError, match="colbench-late-fee-1 is none of the small tier"):
        small.assumed(entry, [])
