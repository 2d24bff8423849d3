"""The mixture matched the keys travel, colbench and tau2; four worlds resolved to nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.contract import knobs
from gate.contract.findings import Refused
from tests import candidates

MIX: dict[str, Any] = {"environment.task_mix": {"travel": 1.0, "tau": 1.0}}
PAID = {"id": "x", "event": "search_ok", "value": 0.05}


@pytest.mark.parametrize(
    ("new", "path", "value"),
    [
        (MIX, "environment.task_mix", "tau"),
        ({"environment.per_world_scale": {"tau2": 2.0}}, "environment.per_world_scale", "tau2"),
        ({"user.worlds.trvel.max_reveals": 3}, "user.worlds", "trvel"),
        (
            {"reward.shaping": [{**PAID, "where": {"world": "Travel"}}]},
            "reward.shaping.x.where.world",
            "Travel",
        ),
        ({"reward.shaping": [{**PAID, "event": "serch_ok"}]}, "reward.shaping.x.event", "serch_ok"),
    ],
)
def test_a_key_that_resolves_to_nothing_is_refused_by_the_probe(
    tmp_path: Path, new: dict[str, Any], path: str, value: str
) -> None:
    report = candidates.probed(candidates.request(tmp_path, "travel", new=new), "coverage")
    told = [(one.path, one.value) for one in candidates.errors(report, "coverage")]
    assert told == [(path, value)]


def test_knobs_that_name_a_world_nobody_has_are_refused_before_any_probe() -> None:
    values = candidates.values(MIX)
    with pytest.raises(Refused, match="tau"):
        knobs.from_values(values, worlds=("travel",))
