"""A run's worlds and users by revision: a broken user costs its episodes and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.users.dialogue import request
from trainer import assembly
from trainer.episode import Voice
from trainer.recipe import RunConfig
from trainer.users.rule_file import RuleFileError
from trainer.users.seam import UserFailure
from trainer.worlds import catalog

CONFIG = RunConfig("test")


@pytest.fixture
def folder_of(tmp_path: Path) -> Callable[[int], Path]:
    """Two revisions of the travel world; the second's rules cannot be read."""
    for revision in ("0", "1"):
        shutil.copytree(catalog.world("travel").folder, tmp_path / revision / "travel")
    (tmp_path / "1" / "travel" / "user.yaml").write_text("rules: [")
    return lambda revision: tmp_path / str(revision)


def test_users_that_cannot_be_used_fail_every_message_and_say_why(
    folder_of: Callable[[int], Path],
) -> None:
    with assembly.make_places(CONFIG, folder_of) as places:
        assert places.at(0).worlds.check("travel") is None
        broken = places.at(1)
        assert set(broken.users) == {Voice.SYMBOLIC, Voice.NOISY}
        for voice, engine in broken.users.items():
            assert engine.voice is voice
            first, second = engine.reply([request("Which room?"), request("Hello?")])
            assert isinstance(first, UserFailure) and first == second
            assert "the users of world revision 1 cannot be used" in first.reason
            assert "user.yaml" in first.reason
        assert broken.worlds.check("travel") is None, "the worlds themselves are whole"


def test_at_the_launch_such_users_are_an_error(folder_of: Callable[[int], Path]) -> None:
    places = assembly.make_places(CONFIG, lambda revision: folder_of(1))
    with pytest.raises(RuleFileError):
        places.at(0)


def test_each_revision_has_workers_of_its_own_that_end_with_it(
    folder_of: Callable[[int], Path],
) -> None:
    with assembly.make_places(CONFIG, folder_of) as places:
        first, second = places.at(0).worlds, places.at(1).worlds
        assert first is not second
        places.keep({0})
        assert places.at(0).worlds is first
        assert places.at(1).worlds is not second
