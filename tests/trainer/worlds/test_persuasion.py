"""The persuasion world pays what PersuadeGym pays, and neither a dance nor a stray stance helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from trainer.episode import Episode, StopReason
from trainer.message import Reply, read_action
from trainer.rollout.scripted import play
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.persuasion import env as persuasion
from trainer.worlds.persuasion import loader, verifier
from trainer.worlds.persuasion.verifier import PersuasionState

LONG = "This is something different."

REAL = {
    "id": "7",
    "claim": "Bridges should be free of toll.",
    "argument": "Merchants already suffer from heavy taxation. Travellers would choose longer "
    "detours through residential quarters.",
}


def task(*steps: int) -> Task:
    """A task whose points are each worth some steps."""
    points = [
        {"point": f"point {n}", "cues": [f"cue {n}"], "steps": steps, "reply": f"granted {n}"}
        for n, steps in enumerate(steps, start=1)
    ]
    return loader.task({"id": "t", "claim": "So.", "argument": "Because.", "concessions": points})


class Sayer:
    """A player that says given words, one after another."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = iter(words)

    def move(self, turns: Any) -> str:
        """Return the next words."""
        return next(self.words)


def dispute(entry: Task, *words: str) -> Episode:
    """An episode with the symbolic holder."""
    cast = env_suite.cast("persuasion")
    return play(
        entry,
        Sayer(words),
        env=cast.env(entry),
        user=cast.user,
        user_settings=cast.user_settings,
        max_steps=len(words),
        seed=1,
    )


@pytest.mark.parametrize(
    ("old", "new", "reward"),
    [(0, 2, 0.333333), (2, 1, 0.0), (1, 6, 0.833333), (0, 6, 1.0), (3, 3, 0.0)],
)
def test_a_turn_has_the_published_reward(old: int, new: int, reward: float) -> None:
    assert verifier.published_reward(old, new) == reward


def test_fault_12_a_dance_sums_above_one_upstream_and_pays_at_most_one_here() -> None:
    stances = [(0, 2), (2, 1), (1, 6)]
    assert sum(verifier.published_reward(*pair) for pair in stances) == pytest.approx(1.166666)
    entry = task(2, 5 - 1)
    env = persuasion.make(entry, settings={}, seed=0)
    env.start()
    rewards = []
    for words, told in ((LONG, "C1"), ("You idiot.", ""), (LONG, "C2")):
        env.act(read_action(f"[action] {words}"))
        rewards.append(env.hear(Reply("-", revealed=(told,) if told else ())).reward)
    assert rewards == pytest.approx([2 / 6, 0.0, 3 / 6])
    assert env.verdict().metrics["progress"] == pytest.approx(5 / 6)
    assert env.verdict().metrics["sum"] == pytest.approx(0.333333 + 0.666667)


@pytest.mark.parametrize("stance", [-1, 7, 2.5, True, "Agree", None])
def test_fault_11_a_stance_off_the_scale_can_never_be_stored(stance: Any) -> None:
    with pytest.raises(ValueError, match="off the scale"):
        PersuasionState(stance=stance)


def test_fault_11_points_beyond_the_scale_end_at_its_last_word() -> None:
    state = PersuasionState(stance=5, highest=5).hear(task(3, 3), ["C1", "C2"])
    assert verifier.STANCES[state.stance] == "Strongly Disagree"
    state = PersuasionState().argue("Idiot.")
    assert state.stance == 0 and state.num_insults == 1


def test_monotone_persuasion_earns_exactly_one() -> None:
    cast = env_suite.cast("persuasion")
    for entry in catalog.tasks("persuasion", "train"):
        episode = cast.play(entry, "oracle")
        assert episode.total_reward == pytest.approx(1.0, abs=1e-12)
        assert episode.metrics["sum"] == pytest.approx(1.0, abs=1e-5)


def test_the_holders_own_argument_is_not_shown() -> None:
    for entry in (loader.task(REAL), *catalog.tasks("persuasion", "train")):
        opening = persuasion.make(entry, settings={}, seed=0).start()
        reasons = entry.goal.partition("Your reasons: ")[2]
        assert reasons and reasons not in opening.system + opening.user


def test_points_are_granted_by_their_keywords_and_insults_harden() -> None:
    entry = catalog.tasks("persuasion", "train")[0]
    episode = dispute(
        entry,
        "[action] The library is something nice.",
        "[action] Where would children do their homework?",
        "[answer] You are an idiot.",
        "[action] Where would children do their homework?",
        "[action] Buying all those books is expensive, so share.",
    )
    events = [turn.events for turn in episode.turns[2:]]
    assert [one for some in events for one in some] == [
        "off_topic",
        "point_granted",
        "offended",
        "off_topic",
        "off_topic",
        "point_granted",
    ]
    assert episode.total_reward == pytest.approx(3 / 6)


def test_action_and_answer_are_the_same_and_search_is_neither() -> None:
    env = persuasion.make(task(6), settings={}, seed=0)
    env.start()
    assert env.act(read_action(f"[action] {LONG}")).say == LONG
    assert env.act(read_action(f"[answer] {LONG}")).say == LONG
    assert env.act(read_action("[search] a")).events == ("malformed",)
    assert env.act(read_action("[finish]")).stop is StopReason.FAILED


@pytest.mark.parametrize("words", ["children", "homework homework homework", "up?", "1 2 3 4"])
def test_a_keyword_alone_persuades_nobody(words: str) -> None:
    episode = dispute(catalog.tasks("persuasion", "train")[0], f"[action] {words}")
    assert episode.turns[-1].events == ("too_short",)
    assert episode.total_reward == 0.0


def test_every_point_of_ours_is_granted_by_its_own_words_first() -> None:
    cast = env_suite.cast("persuasion")
    for split in catalog.SPLITS:
        for entry in catalog.tasks("persuasion", split):
            episode = cast.play(entry, "oracle")
            told = [name for turn in episode.turns for name in turn.revealed]
            assert told == [fact.id for fact in entry.facts], entry.id


def test_a_claim_of_the_real_schema_is_moved_by_its_own_reasons() -> None:
    entry = loader.task(REAL)
    assert [fact.weight for fact in entry.facts] == [3.0, 3.0]
    episode = dispute(
        entry,
        "[action] That seems a rather foolish idea.",
        "[action] Merchants suffer less when taxation falls.",
        "[action] No residential quarter wants such detours or travellers.",
    )
    assert episode.success == 1.0


@pytest.mark.parametrize("as_list", [True, False])
def test_a_real_file_may_be_a_list_or_an_object(tmp_path: Path, as_list: bool) -> None:
    records = [REAL | {"id": str(number)} for number in range(12)]
    content = records if as_list else {record["id"]: record for record in records}
    (tmp_path / "all_statements_refined.json").write_text(json.dumps(content))
    tasks = [t for split in catalog.SPLITS for t in catalog.tasks("persuasion", split, tmp_path)]
    assert sorted(entry.id for entry in tasks) == sorted(record["id"] for record in records)
    cast = env_suite.cast("persuasion")
    env_suite.is_reachable(cast, tasks[0], "full")
    env_suite.has_a_floor(cast, tasks[0])


def test_a_clone_without_the_file_is_read_from_its_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="the records are in a parquet file")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / loader.GYM.ids
    folder.mkdir(parents=True)
    rows = [REAL | {"style": "rule", "ground_truth": "", "env_name": "PersuadeGym"}]
    parquet.write_table(arrow.table({"reward_model": rows}), folder / "test.parquet")
    (entry,) = catalog.tasks("persuasion", "evaluation", tmp_path)
    assert entry.id == "7" and entry.extra == {}
    assert "ids of the split" in entry.provenance


@pytest.mark.parametrize("steps", [(1, 2), (7,), (6, 0), ()])
def test_points_that_do_not_span_the_scale_are_refused(steps: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="6 steps in all"):
        task(*steps)


def test_the_numbers_of_claims() -> None:
    assert len(catalog.tasks("persuasion", "train")) == 16
    assert len(catalog.tasks("persuasion", "evaluation")) == 8
