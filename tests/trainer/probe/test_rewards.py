"""Who does not solve a task gains nothing by a change, now or on the run's stored episodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import candidates
from trainer.episode import RewardEvent, Speaker, StopReason, Turn
from trainer.probe.checks.backtest import ordered
from trainer.probe.repay import repay
from trainer.rollout.reward import RewardScheme, ShapingRule


def shaping(**rule: Any) -> dict[str, Any]:
    return {"reward.shaping": [{"id": "first_hit", "value": 0.05, "once": True, **rule}]}


@pytest.mark.parametrize("event", ["search_unclear", "malformed", "finished"])
def test_a_bonus_on_failing_calls_is_refused(tmp_path: Path, event: str) -> None:
    asked = candidates.request(tmp_path, "travel", new=shaping(event=event))
    (gain,) = candidates.errors(candidates.probed(asked, "gains"))
    assert (gain.path, gain.value, gain.limit) == ("reward.shaping", 0.05, 0.0)


def test_a_bonus_for_progress_that_the_perfect_player_earns_too_passes(tmp_path: Path) -> None:
    asked = candidates.request(tmp_path, "travel", new=shaping(event="preference_elicited"))
    report = candidates.probed(asked, "gains", "floor")
    assert not candidates.errors(report)


def test_a_user_that_volunteers_pays_whoever_does_nothing(tmp_path: Path) -> None:
    asked = candidates.request(tmp_path, "intention", new={"user.volunteer_after": 2})
    report = candidates.probed(asked, "floor", "gains")
    assert candidates.refusing_rules(report) == {"floor", "gains"}


def test_a_world_that_pays_for_every_question_is_refused(tmp_path: Path) -> None:
    paying = {
        "verifier.py": {"    return Verdict(": "    return Verdict("},
        "env.py": {
            'return StepResult(events=("off_topic",))': (
                'return StepResult(events=("off_topic",), reward=0.05)'
            )
        },
    }
    asked = candidates.request(tmp_path, "intention", edits=paying)
    assert {"floor", "gains"} <= candidates.refusing_rules(
        candidates.probed(asked, "floor", "gains")
    )


def test_an_unchanged_reward_gains_nothing(tmp_path: Path) -> None:
    report = candidates.probed(candidates.request(tmp_path, "travel"), "gains", "backtest")
    assert report.measured["gains"] == {"travel": 0.0}
    assert not report.findings


def stored_run(folder: Path, episodes: list[Mapping[str, Any]]) -> Path:
    """A run's folder with stored episodes, as far as a probe reads it."""
    (folder / "episodes").mkdir(parents=True)
    lines = [json.dumps(one) for one in episodes]
    lines.insert(1, lines[0][: len(lines[0]) // 2])
    (folder / "episodes" / "000001.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "run.yaml").write_text("config: {name: stored, worlds: {travel: {}}}\n")
    return folder


def stored(index: int, *, solved: bool, events: list[str]) -> dict[str, Any]:
    turns = [{"speaker": "user", "text": "Please.", "agent_turn": 0}]
    for at, event in enumerate(events):
        turns.append({"speaker": "agent", "text": "[search] hotel", "agent_turn": at})
        turns.append({"speaker": "tool", "text": "hm", "agent_turn": at, "events": [event]})
    task = [{"rule": "task", "value": 1.0, "turn": len(events) - 1}] if solved else []
    return {
        "id": f"000001-{index:02d}",
        "task_id": "small-1",
        "world": "travel",
        "stop": "solved" if solved else "failed",
        "outcome": "finished",
        "success": float(solved),
        "reward": float(solved),
        "rewards": task,
        "turns": turns,
    }


def test_failing_calls_that_would_have_been_paid_are_counted(tmp_path: Path) -> None:
    lost = [stored(i, solved=False, events=["search_failed"] * 3) for i in range(6)]
    won = [stored(10 + i, solved=True, events=["search_ok"]) for i in range(6)]
    run = stored_run(tmp_path / "run", [*lost, *won])
    asked = candidates.request(tmp_path, "travel", new=shaping(event="search_failed"), run=str(run))
    (paid,) = candidates.errors(candidates.probed(asked, "backtest"))
    assert (paid.path, paid.value) == ("reward.shaping", 18)


def test_a_reward_that_turns_the_order_of_episodes_round_is_refused(tmp_path: Path) -> None:
    lost = [stored(i, solved=False, events=["search_narrowed"] * 12) for i in range(6)]
    won = [stored(10 + i, solved=True, events=["search_ok"]) for i in range(6)]
    run = stored_run(tmp_path / "run", [*lost, *won])
    asked = candidates.request(
        tmp_path,
        "travel",
        new=shaping(event="search_narrowed", value=0.1, once=False),
        run=str(run),
    )
    report = candidates.probed(asked, "backtest")
    (order,) = candidates.errors(report)
    assert (order.value, order.limit) == (0.0, 0.98)
    assert report.measured["backtest"] == {"travel": 1.0}


def test_too_few_episodes_are_told(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "run", [stored(0, solved=True, events=["search_ok"])])
    asked = candidates.request(tmp_path, "travel", new=shaping(event="search_ok"), run=str(run))
    report = candidates.probed(asked, "backtest")
    assert not candidates.errors(report)
    assert "cannot be held against them" in report.findings[0].message


def test_the_order_is_the_share_of_pairs_in_which_success_earns_more() -> None:
    success = [1.0] * 4 + [0.0] * 4
    assert ordered(success, [1.0] * 4 + [0.0] * 4) == 1.0
    assert ordered(success, [0.5] * 8) == 0.5
    assert ordered(success, [1.0, 1.0, 1.0, 0.0, 0.5, 0.5, 0.5, 0.5]) == 0.75
    assert ordered([1.0] * 8, [1.0] * 8) is None


def test_paying_again_under_the_same_scheme_gives_what_was_paid() -> None:
    scheme = RewardScheme((ShapingRule("hit", "search_ok", 0.1, once=True),), task_weight=2.0)
    turns = (
        Turn(Speaker.AGENT, "[search] a", 0),
        Turn(Speaker.TOOL, "a", 0, events=("search_ok",)),
        Turn(Speaker.AGENT, "[search] a", 1),
        Turn(Speaker.TOOL, "a", 1, events=("search_ok",)),
        Turn(Speaker.AGENT, "[answer] a", 2),
    )
    paid = (RewardEvent("hit", 0.1, 0), RewardEvent("task", 2.0, 2))
    again = repay(turns, paid, StopReason.SOLVED, world="travel", old=scheme, new=scheme)
    assert again == paid
    halved = RewardScheme((), task_weight=1.0)
    told = repay(turns, paid, StopReason.SOLVED, world="travel", old=scheme, new=halved)
    assert told == (RewardEvent("task", 1.0, 2),)
