"""Every episode has a pinned verdict: that of revision 0's verifier, wherever it was played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from gate.contract.sides import Side
from gate.guard import Condition
from tests.trainer.rollout import cast
from tests.trainer.rollout.cast import SOLVED, ScriptedHost, ScriptedSampler, ScriptedUser
from trainer.episode import Episode, StopReason, Voice
from trainer.rollout.collect import Rollout, collect
from trainer.rollout.config import RolloutConfig
from trainer.rollout.places import Place, Places
from trainer.rollout.scene import Scene
from trainer.rollout.schedule import Assignment
from trainer.users.seam import UserEngine
from trainer.worlds.calls import Act, Fault, Judge, Rejudge
from trainer.worlds.seam import StepResult, Verdict

SIDES = (Side.OLD, Side.NEW, Side.ANCHOR)


@dataclass
class Revisions:
    """Two revisions of the worlds, and three episodes on three sides: old, new, anchor."""

    launched: ScriptedHost = field(
        default_factory=lambda: ScriptedHost(verdict=Verdict(0.5, 0.5), results=solved())
    )
    lax: ScriptedHost = field(
        default_factory=lambda: ScriptedHost(verdict=Verdict(1.0, 1.0), results=solved())
    )
    users: Mapping[int, ScriptedUser] = field(
        default_factory=lambda: {0: ScriptedUser(), 3: ScriptedUser()}
    )
    old: int = 3
    """The folder of the worlds that the old side plays in."""

    def play(self, *turns: str) -> Rollout:
        """Play all three; each says these turns."""
        sampler = ScriptedSampler({f"e{index}": turns for index in range(3)})
        scene = Scene(
            sampler=sampler,
            chat=cast.ByteChat(),
            places=Places(self._place),
            other_voice=Voice.NOISY,
            config=RolloutConfig(max_new_tokens=20, context_tokens=400),
            prompt_styles={},
            temperature=1.0,
            clock=cast.Clock(),
        )
        dealt = [
            Assignment(one.episode_id, one.task, one.group_id, 0, one.seed, side)
            for one, side in zip(cast.assignments(3), SIDES, strict=True)
        ]
        return collect(dealt, scene, conditions=self._conditions())

    def _place(self, revision: int) -> Place:
        engines: dict[Voice, UserEngine] = {Voice.SYMBOLIC: self.users[revision]}
        return Place({0: self.launched, 3: self.lax}[revision], engines)

    def _conditions(self) -> dict[Side, Condition]:
        return {
            Side.OLD: Condition(cast.values(environment__max_steps=4), 2, self.old),
            Side.NEW: Condition(cast.values(environment__max_steps=8), 3, 3),
            Side.ANCHOR: Condition(cast.values(environment__max_steps=6), 0, 0),
        }


def solved() -> dict[tuple[str, int], StepResult]:
    return {(f"e{index}", 1): SOLVED for index in range(3)}


def told(found: Rollout) -> list[tuple[Side, int, float | None, float | None]]:
    return [(one.side, one.revision, one.success, one.pinned_success) for one in found.episodes]


def test_each_episode_plays_at_its_place_and_is_judged_twice() -> None:
    stage = Revisions()
    found = stage.play("[action] which?", "[answer] a")
    assert told(found) == [
        (Side.OLD, 2, 1.0, 0.25),
        (Side.NEW, 3, 1.0, 0.25),
        (Side.ANCHOR, 0, 0.5, 0.5),
    ]
    assert sorted(stage.lax.judged) == ["e0", "e1"]
    assert stage.launched.judged == ["e2"]
    assert sorted(stage.launched.rejudged) == ["e0", "e1"], "the anchor's verdict is its own"
    assert stage.lax.rejudged == {}, "never by the verifier that may have been edited"
    assert len(stage.users[3].asked) == 2
    assert len(stage.users[0].asked) == 1


def test_the_pinned_verifier_reads_the_whole_dialogue_under_its_own_settings() -> None:
    stage = Revisions()
    found = stage.play("[action] which?", "[answer] a")
    assert tuple(stage.launched.rejudged["e1"]) == found.episodes[1].turns
    assert stage.launched.settings["e1"]["max_steps"] == 8
    assert stage.launched.settings["e0"]["max_steps"] == 4
    assert stage.launched.closed == {"e0", "e1", "e2"}
    assert stage.lax.closed == {"e0", "e1"}


def test_an_old_side_in_the_launched_world_needs_no_second_verdict() -> None:
    stage = Revisions(old=0)
    found = stage.play("[action] which?", "[answer] a")
    assert told(found)[0] == (Side.OLD, 2, 0.5, 0.5)
    assert sorted(stage.launched.rejudged) == ["e1"]


def test_all_finished_episodes_are_learnt_from_whatever_their_side() -> None:
    found = Revisions().play("[action] which?", "[answer] a")
    assert [one.group_id for one in found.trajectories] == ["g0", "g1", "g2"]


def test_where_the_pinned_verifier_fails_there_is_no_verdict_and_the_episode_stays() -> None:
    stage = Revisions()
    stage.launched.faults = {("e1", Rejudge): Fault(StopReason.WORLD_DIED, "killed")}
    found = stage.play("[action] which?", "[answer] a")
    assert told(found)[1] == (Side.NEW, 3, 1.0, None)
    assert found.unscored == {"e1": "world_died: killed"}
    assert len(found.trajectories) == 3, "it is no fault of the episode"
    assert told(found)[0] == (Side.OLD, 2, 1.0, 0.25)


@pytest.mark.parametrize("call", [Act, Judge])
def test_an_episode_that_broke_is_not_asked_about(call: type) -> None:
    stage = Revisions()
    stage.lax.faults = {("e1", call): Fault(StopReason.WORLD_HUNG, "late")}
    found = stage.play("[action] which?", "[answer] a")
    broken: Episode = found.episodes[1]
    assert (broken.stop, broken.success, broken.pinned_success) == (
        *(StopReason.WORLD_HUNG, None, None),
    )
    assert sorted(stage.launched.rejudged) == ["e0"]
    assert found.unscored == {}


def test_the_limits_are_those_of_each_side() -> None:
    stage = Revisions()
    stage.lax.results = stage.launched.results = {}
    found = stage.play("[search] a")
    assert [one.num_agent_turns for one in found.episodes] == [4, 8, 6]
