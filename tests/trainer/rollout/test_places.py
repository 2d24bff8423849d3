"""Places: a revision's worlds and users open when a step needs them and end when none does."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.trainer.rollout.cast import ScriptedHost
from trainer.rollout.places import Place, Places


@dataclass
class Ledger:
    """Notes what is opened and ended."""

    told: list[str] = field(default_factory=list)

    def open_at(self, revision: int) -> Place:
        """Open one revision."""
        self.told.append(f"open {revision}")
        return Place(ScriptedHost(), {}, end=lambda: self.told.append(f"end {revision}"))


def test_a_place_is_opened_once_when_it_is_asked_for() -> None:
    notes = Ledger()
    places = Places(notes.open_at)
    assert notes.told == []
    assert places.at(0).worlds is places.at(0).worlds
    assert notes.told == ["open 0"]


def test_at_a_boundary_the_needed_are_opened_and_the_others_end() -> None:
    notes = Ledger()
    places = Places(notes.open_at)
    for needed in ({0}, {0, 3}, {0, 3}, {0, 5}, {0}):
        places.keep(needed)
    assert notes.told == ["open 0", "open 3", "end 3", "open 5", "end 5"]


def test_a_revision_that_comes_back_gets_new_workers() -> None:
    notes = Ledger()
    places = Places(notes.open_at)
    places.keep({0, 2})
    places.keep({0})
    places.keep({0, 2})
    assert notes.told == ["open 0", "open 2", "end 2", "open 2"]


def test_all_end_with_the_block() -> None:
    notes = Ledger()
    with Places(notes.open_at) as places:
        places.keep({0, 1})
    assert sorted(notes.told[2:]) == ["end 0", "end 1"]
