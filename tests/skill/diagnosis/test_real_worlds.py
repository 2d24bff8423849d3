"""On dialogues of our own worlds, blame and detectors say what the scripted players did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gate.contract import knobs
from skill.diagnosis import blame, detectors
from skill.diagnosis.symptoms import Party
from skill.diagnosis.windows import Window
from tests.conformance.env_suite import Cast, cast
from trainer.episode import Speaker
from trainer.runlog import episode_values
from trainer.users.noisy import NoiseRates, NoisyUser
from trainer.worlds import catalog

EPISODES = 24
POLICYS = {"step_cap", "never_solved"}
"""What players that fail on purpose may show."""


def _window(
    scene: Cast, players: Sequence[str], *, count: int = EPISODES, **user_settings: Any
) -> Window:
    """Play tasks of a world, the players taking turns, and look at the records."""
    tasks = catalog.tasks(scene.name, "train")
    records = []
    for index in range(count):
        task, player = tasks[7 * index % len(tasks)], players[index % len(players)]
        episode = scene.play(task, player, style="compact", seed=index, **user_settings)
        words = [turn.text.split() for turn in episode.turns if turn.speaker is Speaker.AGENT]
        told = episode_values(replace(episode, id=f"000001-{index:02d}"))
        records.append({**told, "step": 1, "num_action_tokens": sum(map(len, words))})
    return Window("played", 0.0, episodes=tuple(records), knobs=knobs.defaults())


@pytest.mark.parametrize("world", catalog.WORLDS)
def test_failures_of_a_bad_player_are_the_policys_and_nobody_else_is_suspected(world: str) -> None:
    look = _window(cast(world), ["oracle", "hasty", "idle"])

    blamed = blame.blame_all(look.dialogues)

    assert len(blamed) >= EPISODES // 3
    assert {
        (entry.party, entry.evidence) for entry in blamed if entry.party is not Party.POLICY
    } == set()
    assert {symptom.name for symptom in detectors.examine(look)} <= POLICYS


@pytest.mark.parametrize("world", ["travel", "intention"])
def test_facts_that_the_knobs_withhold_are_the_configurations(world: str) -> None:
    look = _window(cast(world), ["oracle"], count=10, reveal_kinds=["no-such-kind"])

    blamed = blame.blame_all(look.dialogues)

    assert len(blamed) >= 5
    assert {(entry.party, entry.reason) for entry in blamed} == {(Party.CONFIGURATION, "withheld")}


def test_faults_of_the_noisy_user_are_the_users() -> None:
    travel = cast("travel")
    noisy: Any = NoisyUser(travel.user, NoiseRates(drift=0.3, early_stop=0.2))
    look = _window(replace(travel, user=noisy), ["oracle"])

    shares = blame.shares(look.dialogues, blame.blame_all(look.dialogues))

    assert shares.failed >= EPISODES // 2
    assert shares.share(Party.USER) == 1.0
    assert {symptom.name for symptom in detectors.examine(look)} == {"user_drift"}
