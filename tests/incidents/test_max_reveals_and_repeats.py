"""max_reveals did not bound repeats: the same fact was told as often as it was asked for."""

from __future__ import annotations

from pathlib import Path

from tests import candidates
from tests.incidents.faulty_users import faulty, forgets_repeats


def test_a_user_that_counts_only_first_disclosures_is_refused(tmp_path: Path) -> None:
    asked = candidates.request(tmp_path, "travel", new={"user.max_reveals": 2}, alone=True)
    report = candidates.probed(asked, "repeats", make_user=faulty(forgets_repeats))
    (repeats,) = candidates.errors(report, "repeats")
    assert (repeats.path, repeats.limit) == ("user.max_reveals", 2)
    assert isinstance(repeats.value, int) and repeats.value >= 4


def test_the_shipped_user_keeps_to_it_at_every_setting(tmp_path: Path) -> None:
    for most in (1, 2, 3):
        folder = tmp_path / str(most)
        asked = candidates.request(folder, "intention", new={"user.max_reveals": most})
        assert candidates.probed(asked, "repeats").measured["repeats"] == {"intention": 0}
