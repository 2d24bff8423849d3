"""The travel tasks are what the generator makes, and they betray nothing about their answers."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import pytest

from trainer import seeds
from trainer.worlds.travel import content, generate, loader

SPLITS = {"train": "tasks/train.jsonl", "evaluation": "evaluation/tasks.jsonl"}


@pytest.fixture(scope="module", params=list(SPLITS))
def records(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    text = (loader.FOLDER / SPLITS[request.param]).read_text()
    return [json.loads(line) for line in text.splitlines()]


def small(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["tier"] == "small"]


@pytest.mark.parametrize("split", list(SPLITS))
def test_the_checked_in_tasks_are_those_of_seed_seven(split: str) -> None:
    made = generate.make_tasks(seeds.derive(7, split), split)
    text = (loader.FOLDER / SPLITS[split]).read_text()
    assert [json.loads(line) for line in text.splitlines()] == made


def test_no_seed_gives_a_combination_to_both_splits() -> None:
    combinations = {
        split: {
            generate.combination(record)
            for seed in range(3)
            for record in generate.make_tasks(seed, split)
        }
        for split in SPLITS
    }
    assert not combinations["train"] & combinations["evaluation"]


def test_one_option_is_best_and_only_the_cheapest_that_fits(records: list[dict[str, Any]]) -> None:
    for record in records:
        for aspect in record["dimensions"]:
            part = record[aspect]
            wishes = {topic: text.split(": ")[1] for _, topic, text, _ in part["preferences"]}
            fits = {
                option["id"]: option["cost"]
                for options in part["options"].values()
                for option in options
                if all(option.get(topic) == value for topic, value in wishes.items())
                and "cost" in option
            }
            assert set(part["correct_ids"]) == set(fits)
            assert part["best_id"] == min(fits, key=lambda name: fits[name])
            assert list(fits.values()).count(fits[part["best_id"]]) == 1


def test_every_wish_decides_something(records: list[dict[str, Any]]) -> None:
    for record in records:
        for aspect in record["dimensions"]:
            part = record[aspect]
            best = next(o for o in part["options"]["correct"] if o["id"] == part["best_id"])
            for _, topic, _, _ in part["preferences"]:
                assert any(option[topic] != best[topic] for option in part["options"]["wrong"])


def test_an_aspect_has_at_least_six_options_with_ids_of_their_own(
    records: list[dict[str, Any]],
) -> None:
    for record in records:
        for aspect in record["dimensions"]:
            options = list(itertools.chain(*record[aspect]["options"].values()))
            names = [option["id"] for option in options]
            assert len(names) == len(set(names)) >= 6
            assert {name[0] for name in names} == {content.LETTERS[aspect]}


def test_noise_lacks_a_field_that_matters(records: list[dict[str, Any]]) -> None:
    noise = [
        (part, option)
        for record in records
        for part in (record[aspect] for aspect in record["dimensions"])
        for option in part["options"]["noise"]
    ]
    assert noise
    for part, option in noise:
        assert option.keys() < {"id", "cost", *part["arguments"]["topics"]}


def test_the_id_and_the_price_alone_betray_little(records: list[dict[str, Any]]) -> None:
    parts = [record[aspect] for record in small(records) for aspect in record["dimensions"]]
    by_id = Counter(part["best_id"] for part in parts)
    cheapest = sum(
        part["best_id"]
        == min(itertools.chain(*part["options"].values()), key=lambda option: option["cost"])["id"]
        for part in parts
    )
    assert max(by_id.values()) / len(parts) < 0.2
    # Among six options at random prices the best is the cheapest of one or of two.
    assert 0.1 < cheapest / len(parts) < 0.45


def test_values_and_statements_are_each_used_once() -> None:
    for aspect, topics in content.TOPICS.items():
        values = [value for topic in topics for value in content.values(aspect, topic)]
        assert len(values) == len(set(values)), aspect
        assert all(value.isalpha() and value.islower() for value in values)
    total = sum(
        len(content.statements(aspect, topic, value))
        for aspect, topics in content.TOPICS.items()
        for topic in topics
        for value in content.values(aspect, topic)
    )
    assert len(content.VOICED) == total


def test_hints_do_not_name_the_value() -> None:
    for topics in content.TOPICS.values():
        for topic in topics.values():
            for value, hints in topic.hints.items():
                assert not any(value in hint.lower() for hint in hints)


def test_the_small_tier_names_its_values_and_the_full_tier_implies_them(
    records: list[dict[str, Any]],
) -> None:
    for record in records:
        for aspect in record["dimensions"]:
            for _, _, text, statement in record[aspect]["preferences"]:
                named = text.split(": ")[1] in statement
                assert named == (record["tier"] == "small")
